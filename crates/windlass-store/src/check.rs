//! Looking after the database: backup while running, and checking that it is sound.

use std::collections::BTreeSet;
use std::path::Path;

use windlass_core::digest::Digest;
use windlass_core::id::AccountId;
use windlass_core::resource::Kind;

use crate::contents::read_spec;
use crate::db::{Reading, Store};
use crate::error::StoreError;
use crate::page::unique_text;
use crate::verify::Verified;

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What was looked at.
    pub what: String,
    /// What is wrong with it; none if nothing is.
    pub fault: Option<String>,
}

impl Checked {
    fn new(what: impl Into<String>, fault: Option<String>) -> Checked {
        Checked { what: what.into(), fault }
    }
}

/// What must hold between tables, each a count of rows for which it does not.
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

/// What holds specs beside their digests: the statement, and what it tells of.
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
    /// Copies an embedded database into a new file while it is being used. The copy is complete and consistent, for
    /// nobody else to read, and appears under its name only when it is.
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
        let told = |error| StoreError::Backup(format!("cannot write {}: {error}", to.display()));
        // SQLite accepts a file that is empty, and so it is ours from the beginning.
        let mut options = tokio::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let file = options.open(partial).await.map_err(told)?;
        self.copy_file(partial).await?;
        file.sync_all().await.map_err(told)?;
        tokio::fs::rename(partial, to).await.map_err(told)
    }

    /// Checks everything that can be checked without changing anything.
    pub async fn check(&self) -> Result<Vec<Checked>, StoreError> {
        let mut reading = self.read().await?;
        let mut checked = Vec::new();
        if self.file().is_some() {
            checked.push(reading.check_file().await?);
            checked.push(reading.check_references().await?);
        }
        for (what, sql) in RULES {
            let rows = reading.connection.rows(sql, Vec::new()).await?;
            let count = rows.first().map_or(Ok(0), |row| row.count("count"))?;
            checked.push(Checked::new(*what, (count > 0).then(|| format!("not so for {count}"))));
        }
        for (what, sql) in SPECS {
            checked.push(Checked::new(*what, reading.unsound_specs(sql).await?));
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
    async fn check_file(&mut self) -> Result<Checked, StoreError> {
        let rows = self.connection.rows("PRAGMA integrity_check", Vec::new()).await?;
        let told: Vec<String> =
            rows.iter().map(|row| row.text("integrity_check")).collect::<Result<_, _>>()?;
        Ok(Checked::new("the database file is whole", (told != ["ok"]).then(|| told.join("; "))))
    }

    async fn check_references(&mut self) -> Result<Checked, StoreError> {
        let sql = "SELECT DISTINCT \"table\" FROM pragma_foreign_key_check";
        let rows = self.connection.rows(sql, Vec::new()).await?;
        let tables: Vec<String> = rows.iter().map(|row| row.text("table")).collect::<Result<_, _>>()?;
        let fault = (!tables.is_empty()).then(|| format!("not so in {}", tables.join(", ")));
        Ok(Checked::new("every row refers to rows that are there", fault))
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

    /// What is noted of who refers to what, beside what the specs say. Specs that cannot be read are told elsewhere.
    async fn check_targets(&mut self) -> Result<Checked, StoreError> {
        let sql = "SELECT account_id, kind, name, to_kind, to_name FROM resource_references";
        let mut noted = BTreeSet::new();
        for row in &self.connection.rows(sql, Vec::new()).await? {
            noted.insert([
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
                noted.retain(|[at, of, named, ..]| (at, of, named) != (&account, &kind, &name));
                continue;
            };
            for target in spec.targets(&name) {
                let to_kind = target.kind.slug().to_owned();
                let reference = [account.clone(), kind.clone(), name.clone(), to_kind, target.name];
                wrong += usize::from(!noted.remove(&reference));
            }
        }
        wrong += noted.len();
        let fault = (wrong > 0).then(|| format!("not so for {wrong}"));
        Ok(Checked::new("what refers to what is noted as the resources say", fault))
    }

    async fn check_audit(&mut self, account_id: &AccountId, whose: &str) -> Result<Checked, StoreError> {
        let fault = match self.audit_verify(account_id).await? {
            Verified::Intact { .. } => None,
            Verified::Broken { seq, reason } => Some(format!("entry {seq}: {reason}")),
        };
        Ok(Checked::new(format!("the audit log of {whose} is intact"), fault))
    }
}
