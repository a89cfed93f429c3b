//! What git said at the last good run of each repository.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::digest::Digest;
use windlass_core::resource::{Kind, ResourceKey, ResourceMap, Spec};

use crate::db::Reading;
use crate::error::StoreError;
use crate::resources::read_spec;
use crate::sql::values;
use crate::write::Writing;

/// One declared resource as it is stored.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Which.
    pub key: ResourceKey,
    /// The digest of its spec.
    pub digest: Digest,
    /// The file that declares it.
    pub file: String,
    /// What live was when git, or whoever approved an edited change, last had their way; none if that never was.
    pub settled: Option<Digest>,
}

/// A declared resource that is about to be stored.
#[derive(Clone, Debug)]
pub struct NewWanted<'d> {
    /// Its name.
    pub name: &'d str,
    /// Its kind.
    pub kind: Kind,
    /// What it should be.
    pub spec: &'d Spec,
    /// The digest of that.
    pub digest: Digest,
    /// The file that declares it.
    pub file: &'d str,
}

impl Reading {
    /// What a repository wants, without specs.
    pub async fn wanted(&mut self, repository_id: &str) -> Result<Vec<Wanted>, StoreError> {
        let sql = "SELECT kind, name, digest, file, settled FROM desired WHERE repository_id = $1";
        let mut rows = self.connection.rows(sql, values![repository_id]).await?;
        rows.iter_mut()
            .map(|row| {
                let kind = row.word(Kind::from_word)?;
                Ok(Wanted {
                    key: ResourceKey::new(kind, row.text()?),
                    digest: row.digest()?,
                    file: row.text()?,
                    settled: row.optional_digest()?,
                })
            })
            .collect()
    }

    /// Specs of what a repository wants: of these, or of all.
    pub async fn wanted_specs(
        &mut self,
        repository_id: &str,
        keys: Option<&[ResourceKey]>,
    ) -> Result<ResourceMap<Arc<Spec>>, StoreError> {
        const ONE: &str =
            "SELECT kind, name, spec FROM desired WHERE repository_id = $1 AND kind = $2 AND name = $3";
        let mut rows = match keys {
            None => {
                let sql = "SELECT kind, name, spec FROM desired WHERE repository_id = $1";
                self.connection.rows(sql, values![repository_id]).await?
            }
            Some(keys) => {
                let mut rows = Vec::with_capacity(keys.len());
                for key in keys {
                    rows.extend(
                        self.connection.rows(ONE, values![repository_id, key.kind.slug(), &key.name]).await?,
                    );
                }
                rows
            }
        };
        rows.iter_mut()
            .map(|row| {
                let kind = row.word(Kind::from_word)?;
                let key = ResourceKey::new(kind, row.text()?);
                Ok((key, Arc::new(read_spec(kind, &row.text()?)?)))
            })
            .collect()
    }
}

impl Writing {
    /// Replaces what a repository wants. Only what changed is written.
    pub async fn wanted_replace(
        &mut self,
        repository_id: &str,
        wanted: &[NewWanted<'_>],
    ) -> Result<(), StoreError> {
        let stored = self.wanted(repository_id).await?;
        let mut stored: BTreeMap<(Kind, &str), &Wanted> =
            stored.iter().map(|stored| ((stored.key.kind, stored.key.name.as_str()), stored)).collect();
        let mut rows = Vec::new();
        for new in wanted {
            let is_stored = stored
                .remove(&(new.kind, new.name))
                .is_some_and(|stored| stored.digest == new.digest && stored.file == new.file);
            if !is_stored {
                rows.push(values![
                    repository_id,
                    new.kind.slug(),
                    new.name,
                    new.digest,
                    new.spec.to_stored(),
                    new.file
                ]);
            }
        }
        for (kind, name) in stored.keys() {
            let sql = "DELETE FROM desired WHERE repository_id = $1 AND kind = $2 AND name = $3";
            self.connection.execute(sql, values![repository_id, kind.slug(), *name]).await?;
        }
        let prefix = "INSERT INTO desired (repository_id, kind, name, digest, spec, file) VALUES";
        let suffix = "ON CONFLICT (repository_id, kind, name) DO UPDATE SET digest = excluded.digest, \
                      spec = excluded.spec, file = excluded.file";
        self.connection.insert_many(prefix, rows, suffix).await
    }

    /// Notes where live is what git wants now. Returns how many that is news for.
    pub async fn wanted_settle(&mut self, repository_id: &str) -> Result<u64, StoreError> {
        let sql = "UPDATE desired SET settled = digest WHERE repository_id = $1 \
                   AND (settled IS NULL OR settled <> digest) AND EXISTS (SELECT 1 FROM resources, repositories \
                   WHERE repositories.id = desired.repository_id AND resources.account_id = repositories.account_id \
                   AND resources.kind = desired.kind AND resources.name = desired.name \
                   AND resources.digest = desired.digest AND resources.owner_id = desired.repository_id)";
        self.connection.execute(sql, values![repository_id]).await
    }

    /// Notes what live is, for one resource, with everyone's consent.
    pub async fn wanted_settle_one(
        &mut self,
        repository_id: &str,
        key: &ResourceKey,
        live: Option<Digest>,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE desired SET settled = $4 WHERE repository_id = $1 AND kind = $2 AND name = $3";
        self.connection.execute(sql, values![repository_id, key.kind.slug(), &key.name, live]).await?;
        Ok(())
    }
}
