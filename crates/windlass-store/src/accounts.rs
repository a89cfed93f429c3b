//! Accounts: tenants, their approval policy and their kill switch.

use std::collections::BTreeMap;

use windlass_core::account::Account;
use windlass_core::gate::Halt;
use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::{Row, values};
use crate::write::{AccountWriting, Writing};

const COLUMNS: &str = "id, name, halted_at, halted_by, halt_reason, policy, \
                       policy_repositories, policy_version, created_at";

fn read_account(row: &Row) -> Result<Account, StoreError> {
    let (id, name) = (row.id("id")?, row.text("name")?);
    let (at, by, reason) = (
        row.optional_timestamp("halted_at")?,
        row.optional_text("halted_by")?,
        row.optional_text("halt_reason")?,
    );
    let halt =
        at.map(|at| Halt { since: at, by: by.unwrap_or_default(), reason: reason.unwrap_or_default() });
    Ok(Account {
        id,
        name,
        halt,
        policy: row.text("policy")?,
        policy_repositories: row.optional_json("policy_repositories")?,
        policy_version: row.number("policy_version")?,
        created_at: row.timestamp("created_at")?,
    })
}

impl Reading {
    /// The version of everything in an account that a comparison reads: the accepted state, proposals, accepted drift,
    /// settings.
    pub async fn state_version(&mut self, account_id: &AccountId) -> Result<i64, StoreError> {
        let sql = "SELECT state_version FROM chains WHERE account_id = $1";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        let row = rows.first().ok_or_else(|| StoreError::NoAccount { id: account_id.clone() })?;
        row.number("state_version")
    }

    /// An account by id or by name.
    pub async fn account(&mut self, id_or_name: &str) -> Result<Option<Account>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM accounts WHERE id = $1 OR name = $1 ORDER BY id = $1 DESC");
        let rows = self.connection.rows_built(sql, values![id_or_name]).await?;
        rows.first().map(read_account).transpose()
    }

    /// Every account, by name.
    pub async fn accounts(&mut self) -> Result<Vec<Account>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM accounts ORDER BY name");
        let rows = self.connection.rows_built(sql, Vec::new()).await?;
        rows.iter().map(read_account).collect()
    }
}

impl Writing {
    /// Adds an account.
    pub async fn account_add(
        &mut self,
        id: &AccountId,
        name: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO accounts (id, name, policy, policy_repositories, policy_version, created_at) \
                   VALUES ($1, $2, $3, $3, 1, $4)";
        self.connection.execute(sql, values![id, name, "{}", now]).await?;
        let sql = "INSERT INTO chains (account_id, event_seq, audit_seq, audit_hash) VALUES ($1, 0, 0, '')";
        self.connection.execute(sql, values![id]).await?;
        Ok(())
    }
}

impl AccountWriting {
    /// Turns the kill switch on, or off without a halt.
    pub async fn account_halt(&mut self, halt: Option<&Halt>) -> Result<(), StoreError> {
        let sql = "UPDATE accounts SET halted_at = $2, halted_by = $3, halt_reason = $4 WHERE id = $1";
        let values = values![
            self.account_id(),
            halt.map(|halt| halt.since),
            halt.map(|halt| halt.by.as_str()),
            halt.map(|halt| halt.reason.as_str())
        ];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Replaces the approval policy and the repositories that its rules name: name → id. False if the policy was
    /// changed after the given version.
    pub async fn account_set_policy(
        &mut self,
        policy: &str,
        repositories: &BTreeMap<String, RepositoryId>,
        version: i64,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE accounts SET policy = $2, policy_repositories = $3, policy_version = policy_version + 1 \
                   WHERE id = $1 AND policy_version = $4";
        let values = values![self.account_id(), policy, names_text(repositories), version];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Stores which repositories the rules of a policy name, for a policy that an earlier version saved without them.
    pub async fn account_bind_policy(
        &mut self,
        repositories: &BTreeMap<String, RepositoryId>,
    ) -> Result<bool, StoreError> {
        let sql =
            "UPDATE accounts SET policy_repositories = $2 WHERE id = $1 AND policy_repositories IS NULL";
        let values = values![self.account_id(), names_text(repositories)];
        Ok(self.connection.execute(sql, values).await? == 1)
    }
}

fn names_text(names: &BTreeMap<String, RepositoryId>) -> String {
    serde_json::to_value(names).unwrap_or_default().to_string()
}
