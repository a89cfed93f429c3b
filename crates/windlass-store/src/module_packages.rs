//! Packages of modules: which blobs have the content of each accepted module, so that it is built once.

use std::collections::BTreeMap;

use windlass_core::digest::Digest;
use windlass_core::host::{BlobDigest, BlobRef};
use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::{Row, Value, values};
use crate::write::Writing;

/// The package of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModulePackageRow {
    /// The module.
    pub module: String,
    /// The digest of the accepted module, with the content of the files that it names.
    pub digest: Digest,
    /// The blobs with its content.
    pub content: PackageContent,
}

/// The blobs of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageContent {
    /// The package itself.
    pub package: BlobDigest,
    /// The files that it names, by path.
    pub files: BTreeMap<String, BlobRef>,
}

fn read_package(row: &Row) -> Result<ModulePackageRow, StoreError> {
    let content = PackageContent { package: row.blob_digest("package")?, files: row.json("files")? };
    Ok(ModulePackageRow { module: row.text("module")?, digest: row.digest("digest")?, content })
}

impl Reading {
    /// The packages of an account's modules, of present and earlier content.
    pub async fn module_packages(
        &mut self,
        account_id: &AccountId,
    ) -> Result<Vec<ModulePackageRow>, StoreError> {
        let sql = "SELECT module, digest, package, files FROM module_packages WHERE account_id = $1";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter().map(read_package).collect()
    }

    /// The packages of all accounts, each with its account, and whether the module with this content is accepted.
    pub async fn module_packages_all(
        &mut self,
    ) -> Result<Vec<(AccountId, ModulePackageRow, bool)>, StoreError> {
        let sql = "SELECT account_id, module, digest, package, files, \
                   (SELECT COUNT(*) FROM resources WHERE resources.account_id = module_packages.account_id \
                    AND resources.kind = 'module' AND resources.name = module_packages.module \
                    AND resources.digest = module_packages.digest) AS is_accepted FROM module_packages";
        let rows = self.connection.rows(sql, Vec::new()).await?;
        let read = |row: &Row| Ok((row.id("account_id")?, read_package(row)?, row.boolean("is_accepted")?));
        rows.iter().map(read).collect()
    }

    /// The files of packages, by package. Packages that are not known are left out.
    pub async fn package_files(
        &mut self,
        packages: &[BlobDigest],
    ) -> Result<BTreeMap<BlobDigest, BTreeMap<String, BlobRef>>, StoreError> {
        let rows = packages.iter().map(|package| values![*package]).collect();
        let prefix = "WITH given (digest) AS (VALUES";
        let suffix = ") SELECT package, MIN(files) AS files FROM given CROSS JOIN module_packages \
                      WHERE package = given.digest GROUP BY package";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter().map(|row| Ok((row.blob_digest("package")?, row.json("files")?))).collect()
    }
}

impl Writing {
    /// Stores the package of a module content, whose blobs are stored, in place of one that was stored before.
    pub async fn module_package_put(
        &mut self,
        account_id: &AccountId,
        package: &ModulePackageRow,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let ModulePackageRow { module, digest, content } = package;
        let files = serde_json::to_string(&content.files).expect("a map of digests is JSON");
        let sql = "INSERT INTO module_packages (account_id, module, digest, package, files, made_at) \
                   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (account_id, module, digest) DO UPDATE SET \
                   package = excluded.package, files = excluded.files, made_at = excluded.made_at";
        let values = values![account_id, module, *digest, content.package, files, now];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Removes packages that nothing refers to. One that was made after a time is kept: a transaction may be about to
    /// refer to it.
    pub async fn module_packages_remove(
        &mut self,
        packages: &[(AccountId, ModulePackageRow)],
        made_before: Timestamp,
    ) -> Result<u64, StoreError> {
        let row = |(account_id, package): &(AccountId, ModulePackageRow)| -> Vec<Value> {
            values![account_id, &package.module, package.digest, made_before]
        };
        let rows = packages.iter().map(row).collect();
        let prefix = "WITH given (account_id, module, digest, made_before) AS (VALUES";
        let suffix = ") DELETE FROM module_packages WHERE EXISTS (SELECT 1 FROM given \
                      WHERE given.account_id = module_packages.account_id AND given.module = module_packages.module \
                      AND given.digest = module_packages.digest AND module_packages.made_at < given.made_before)";
        self.connection.execute_many(prefix, rows, suffix).await
    }
}
