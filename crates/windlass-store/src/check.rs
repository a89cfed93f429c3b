//! Maintenance of the database: backups while it is in use, and consistency checks.

use std::collections::BTreeSet;
use std::path::Path;

use windlass_core::digest::Digest;
use windlass_core::id::AccountId;
use windlass_core::resource::Kind;

use crate::contents::read_spec;
use crate::db::{Reading, Store};
use crate::error::StoreError;
use crate::page::unique_text;
use crate::verify::LogVerification;

/// One check and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallationCheck {
    /// What the check verifies.
    pub what: String,
    /// What is wrong; none if the check passed.
    pub fault: Option<String>,
}

impl InstallationCheck {
    fn new(what: impl Into<String>, fault: Option<String>) -> InstallationCheck {
        InstallationCheck { what: what.into(), fault }
    }
}

/// Rules between tables, each with a statement that counts the rows that break it.
const RULES: &[(&str, &str)] = &[
    (
        "every owned resource belongs to a registered repository",
        "SELECT COUNT(*) AS count FROM resources WHERE owner_id IS NOT NULL \
         AND owner_id NOT IN (SELECT id FROM repositories)",
    ),
    (
        "every open proposal is a direct change or belongs to a registered repository",
        "SELECT COUNT(*) AS count FROM proposals WHERE status IN ('pending_approval', 'approved') AND repository_id <> '' \
         AND repository_id NOT IN (SELECT id FROM repositories)",
    ),
    (
        "every open proposal is a direct change or belongs to a run",
        "SELECT COUNT(*) AS count FROM proposals WHERE status IN ('pending_approval', 'approved') AND repository_id <> '' \
         AND NOT EXISTS (SELECT 1 FROM run_proposals WHERE run_proposals.proposal_id = proposals.id)",
    ),
    (
        "what every proposal changes is stored",
        "SELECT COUNT(*) AS count FROM proposals WHERE \
         (base_digest IS NOT NULL AND base_digest NOT IN (SELECT digest FROM contents)) \
         OR (desired_digest IS NOT NULL AND desired_digest NOT IN (SELECT digest FROM contents)) \
         OR (edited_digest IS NOT NULL AND edited_digest NOT IN (SELECT digest FROM contents))",
    ),
    (
        "every account has its chain",
        "SELECT COUNT(*) AS count FROM accounts WHERE id NOT IN (SELECT account_id FROM chains)",
    ),
    (
        "no administrator of the installation signs in through a provider of identities",
        "SELECT COUNT(*) AS count FROM identities JOIN users ON users.id = identities.user_id WHERE users.is_root = 1",
    ),
];

/// Tables with digests of specs: what the check verifies, and the statement that reads digests and specs.
const SPECS: &[(&str, &str)] = &[
    (
        "every resource can be read and is what its digest says",
        "SELECT kind, name, digest, (SELECT body FROM contents WHERE contents.digest = resources.digest) AS spec FROM resources",
    ),
    (
        "everything git wants can be read and is what its digest says",
        "SELECT kind, name, digest, (SELECT body FROM contents WHERE contents.digest = desired.digest) AS spec FROM desired",
    ),
];

impl Store {
    /// Copies an embedded database into a new file while it is in use. The copy is consistent, only the owner can read
    /// it, and it gets its name only when it is complete.
    pub async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        if self.file().is_none() {
            let message = "a PostgreSQL database is backed up with pg_dump, while Windlass runs";
            return Err(StoreError::Backup(message.to_owned()));
        }
        let name =
            to.to_str().ok_or_else(|| StoreError::Backup("the file's name is not UTF-8".to_owned()))?;
        if to.exists() {
            return Err(StoreError::Backup(format!("{name} exists already; a backup never overwrites")));
        }
        let partial = format!("{name}.{}.partial", unique_text());
        let copied = self.copy_into(&partial, to).await;
        if copied.is_err() {
            let _ = tokio::fs::remove_file(&partial).await;
        }
        copied
    }

    async fn copy_into(&self, partial: &str, to: &Path) -> Result<(), StoreError> {
        let write_error = |error| StoreError::Backup(format!("cannot write {}: {error}", to.display()));
        // SQLite writes into an existing empty file, so the permissions are restricted from the beginning.
        let mut options = tokio::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let file = options.open(partial).await.map_err(write_error)?;
        self.copy_file(partial).await?;
        file.sync_all().await.map_err(write_error)?;
        tokio::fs::rename(partial, to).await.map_err(write_error)
    }

    /// Checks everything that can be checked without changing anything.
    pub async fn check(&self) -> Result<Vec<InstallationCheck>, StoreError> {
        let mut reading = self.read().await?;
        let mut checked = Vec::new();
        if self.file().is_some() {
            checked.push(reading.check_file().await?);
            checked.push(reading.check_references().await?);
        }
        for (what, sql) in RULES {
            let rows = reading.connection.rows(sql, Vec::new()).await?;
            let count = rows.first().map_or(Ok(0), |row| row.count("count"))?;
            checked.push(InstallationCheck::new(*what, (count > 0).then(|| format!("not so for {count}"))));
        }
        for (what, sql) in SPECS {
            checked.push(InstallationCheck::new(*what, reading.unsound_specs(sql).await?));
        }
        checked.push(reading.check_targets().await?);
        let accounts = reading.accounts().await?;
        checked.push(reading.check_audit(&AccountId::installation(), "the installation").await?);
        for account in accounts {
            checked.push(reading.check_audit(&account.id, &format!("account {}", account.name)).await?);
        }
        Ok(checked)
    }
}

impl Reading {
    async fn check_file(&mut self) -> Result<InstallationCheck, StoreError> {
        let rows = self.connection.rows("PRAGMA integrity_check", Vec::new()).await?;
        let messages: Vec<String> =
            rows.iter().map(|row| row.text("integrity_check")).collect::<Result<_, _>>()?;
        Ok(InstallationCheck::new(
            "the database file is whole",
            (messages != ["ok"]).then(|| messages.join("; ")),
        ))
    }

    async fn check_references(&mut self) -> Result<InstallationCheck, StoreError> {
        let sql = "SELECT DISTINCT \"table\" FROM pragma_foreign_key_check";
        let rows = self.connection.rows(sql, Vec::new()).await?;
        let tables: Vec<String> = rows.iter().map(|row| row.text("table")).collect::<Result<_, _>>()?;
        let fault = (!tables.is_empty()).then(|| format!("not so in {}", tables.join(", ")));
        Ok(InstallationCheck::new("every row refers to rows that are there", fault))
    }

    async fn unsound_specs(&mut self, sql: &'static str) -> Result<Option<String>, StoreError> {
        let rows = self.connection.rows(sql, Vec::new()).await?;
        let mut faults = Vec::new();
        for row in &rows {
            let (kind, name, digest) = (row.text("kind")?, row.text("name")?, row.text("digest")?);
            let body = row.optional_text("spec")?;
            let read = body.zip(Kind::from_word(&kind)).and_then(|(body, kind)| read_spec(kind, &body).ok());
            match read {
                None => faults.push(format!("{kind} {name} cannot be read")),
                Some(spec) if Digest::parse(&digest) != Some(spec.digest()) => {
                    faults.push(format!("{kind} {name} is not what its digest says"));
                }
                Some(_) => {}
            }
        }
        Ok((!faults.is_empty()).then(|| faults.join("; ")))
    }

    /// Compares the stored references with those in the specs. Another check reports specs that cannot be read.
    async fn check_targets(&mut self) -> Result<InstallationCheck, StoreError> {
        let sql = "SELECT account_id, kind, name, to_kind, to_name FROM resource_references";
        let mut stored_references = BTreeSet::new();
        for row in &self.connection.rows(sql, Vec::new()).await? {
            stored_references.insert([
                row.text("account_id")?,
                row.text("kind")?,
                row.text("name")?,
                row.text("to_kind")?,
                row.text("to_name")?,
            ]);
        }
        let mut wrong = 0;
        let sql = "SELECT account_id, kind, name, (SELECT body FROM contents WHERE contents.digest = resources.digest) AS spec \
                   FROM resources";
        for row in &self.connection.rows(sql, Vec::new()).await? {
            let (account, kind, name) = (row.text("account_id")?, row.text("kind")?, row.text("name")?);
            let body = row.optional_text("spec")?.zip(Kind::from_word(&kind));
            let Some(spec) = body.and_then(|(body, kind)| read_spec(kind, &body).ok()) else {
                stored_references.retain(|[at, of, named, ..]| (at, of, named) != (&account, &kind, &name));
                continue;
            };
            for target in spec.targets(&name) {
                let to_kind = target.kind.slug().to_owned();
                let reference = [account.clone(), kind.clone(), name.clone(), to_kind, target.name];
                wrong += usize::from(!stored_references.remove(&reference));
            }
        }
        wrong += stored_references.len();
        let fault = (wrong > 0).then(|| format!("not so for {wrong}"));
        Ok(InstallationCheck::new("what refers to what is noted as the resources say", fault))
    }

    async fn check_audit(
        &mut self,
        account_id: &AccountId,
        whose: &str,
    ) -> Result<InstallationCheck, StoreError> {
        let fault = match self.audit_verify(account_id).await? {
            LogVerification::Intact { .. } => None,
            LogVerification::Broken { seq, reason } => Some(format!("entry {seq}: {reason}")),
        };
        Ok(InstallationCheck::new(format!("the audit log of {whose} is intact"), fault))
    }
}
