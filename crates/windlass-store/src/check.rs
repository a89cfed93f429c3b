//! Looking after the database: backup while running, and checking that it is sound.

use std::path::Path;

use windlass_core::digest::Digest;
use windlass_core::resource::Kind;

use crate::audit::Verified;
use crate::db::Store;
use crate::error::StoreError;
use crate::resources::read_spec;
use crate::sql::{Row, values};

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
        "SELECT COUNT(*) FROM resources WHERE owner_id IS NOT NULL \
         AND owner_id NOT IN (SELECT id FROM repositories)",
    ),
    (
        "every open proposal belongs to a registered repository",
        "SELECT COUNT(*) FROM proposals WHERE status IN ('pending_approval', 'approved', 'applying') \
         AND repository_id NOT IN (SELECT id FROM repositories)",
    ),
    (
        "every proposal belongs to a run",
        "SELECT COUNT(*) FROM proposals WHERE status IN ('pending_approval', 'approved', 'applying') \
         AND id NOT IN (SELECT proposal_id FROM run_proposals)",
    ),
    (
        "every account has its chain",
        "SELECT COUNT(*) FROM accounts WHERE id NOT IN (SELECT account_id FROM chains)",
    ),
];

impl Store {
    /// Copies an embedded database into a new file while it is being used. The copy is complete and consistent.
    pub async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        if self.file().is_none() {
            let message = "a PostgreSQL database is backed up with pg_dump, while Windlass runs";
            return Err(StoreError::Backup(message.to_owned()));
        }
        let path =
            to.to_str().ok_or_else(|| StoreError::Backup("the file's name is not UTF-8".to_owned()))?;
        if to.exists() {
            return Err(StoreError::Backup(format!("{path} exists already; a backup never overwrites")));
        }
        let mut reading = self.read().await?;
        reading.connection.execute("VACUUM INTO $1", values![path]).await?;
        Ok(())
    }

    /// Checks everything that can be checked without changing anything.
    pub async fn check(&self) -> Result<Vec<Checked>, StoreError> {
        let mut reading = self.read().await?;
        let mut checked = Vec::new();
        if self.file().is_some() {
            let mut rows = reading.connection.rows("PRAGMA integrity_check", Vec::new()).await?;
            let told: Vec<String> = rows.iter_mut().map(Row::text).collect::<Result<_, _>>()?;
            let fault = (told != ["ok"]).then(|| told.join("; "));
            checked.push(Checked::new("the database file is whole", fault));
        }
        for (what, sql) in RULES {
            let mut rows = reading.connection.rows(sql, Vec::new()).await?;
            let count = rows.first_mut().map_or(Ok(0), Row::count)?;
            checked.push(Checked::new(*what, (count > 0).then(|| format!("not so for {count}"))));
        }
        let faults = self.unsound_resources().await?;
        let fault = (!faults.is_empty()).then(|| faults.join("; "));
        checked.push(Checked::new("every resource can be read and is what its digest says", fault));
        let accounts = reading.accounts().await?;
        for (id, name) in
            accounts.iter().map(|account| (account.id.as_str(), account.name.as_str())).chain([("", "")])
        {
            let fault = match reading.audit_verify(id).await? {
                Verified::Intact { .. } => None,
                Verified::Broken { seq, reason } => Some(format!("entry {seq}: {reason}")),
            };
            let whose = if id.is_empty() { "the installation".to_owned() } else { format!("account {name}") };
            checked.push(Checked::new(format!("the audit log of {whose} is intact"), fault));
        }
        Ok(checked)
    }

    async fn unsound_resources(&self) -> Result<Vec<String>, StoreError> {
        let mut reading = self.read().await?;
        let sql = "SELECT kind, name, spec, digest FROM resources";
        let mut rows = reading.connection.rows(sql, Vec::new()).await?;
        let mut faults = Vec::new();
        for row in &mut rows {
            let (kind, name, spec, digest) = (row.text()?, row.text()?, row.text()?, row.text()?);
            let read = Kind::from_word(&kind).and_then(|kind| read_spec(kind, &spec).ok());
            match read {
                None => faults.push(format!("{kind} {name} cannot be read")),
                Some(spec) if Digest::parse(&digest) != Some(spec.digest()) => {
                    faults.push(format!("{kind} {name} is not what its digest says"));
                }
                Some(_) => {}
            }
        }
        Ok(faults)
    }
}
