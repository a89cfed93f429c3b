//! Hosts that credentials are bound to: an account's credential path → `host:port`.

use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::{Row, values};
use crate::write::Writing;

/// A host that a credential may be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialBinding {
    /// The account.
    pub account_id: AccountId,
    /// Where the credential is kept.
    pub credential_path: String,
    /// `host:port`.
    pub host: String,
    /// Who bound it.
    pub bound_by: String,
    /// When.
    pub bound_at: Timestamp,
}

fn read_binding(row: &Row) -> Result<CredentialBinding, StoreError> {
    Ok(CredentialBinding {
        account_id: row.id("account_id")?,
        credential_path: row.text("credential_path")?,
        host: row.text("host")?,
        bound_by: row.text("bound_by")?,
        bound_at: row.timestamp("bound_at")?,
    })
}

impl Reading {
    /// Every binding of an account, by path and host.
    pub async fn credential_bindings(
        &mut self,
        account_id: &AccountId,
    ) -> Result<Vec<CredentialBinding>, StoreError> {
        let sql = "SELECT account_id, credential_path, host, bound_by, bound_at FROM credential_bindings \
                   WHERE account_id = $1 ORDER BY credential_path, host";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter().map(read_binding).collect()
    }

    /// The hosts that a credential of an account is bound to.
    pub async fn credential_hosts(
        &mut self,
        account_id: &AccountId,
        path: &str,
    ) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT host FROM credential_bindings WHERE account_id = $1 AND credential_path = $2 ORDER BY host";
        let rows = self.connection.rows(sql, values![account_id, path]).await?;
        rows.iter().map(|row| row.text("host")).collect()
    }

    /// The hosts that the credential of this path is bound to in any other account.
    pub async fn credential_hosts_elsewhere(
        &mut self,
        account_id: &AccountId,
        path: &str,
    ) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT DISTINCT host FROM credential_bindings WHERE credential_path = $2 AND account_id <> $1 \
                   ORDER BY host";
        let rows = self.connection.rows(sql, values![account_id, path]).await?;
        rows.iter().map(|row| row.text("host")).collect()
    }
}

impl Writing {
    /// Binds a credential to a host. False if it is bound to it already.
    pub async fn credential_bind(&mut self, binding: &CredentialBinding) -> Result<bool, StoreError> {
        let sql = "INSERT INTO credential_bindings (account_id, credential_path, host, bound_by, bound_at) \
                   VALUES ($1, $2, $3, $4, $5) ON CONFLICT (account_id, credential_path, host) DO NOTHING";
        let CredentialBinding { account_id, credential_path, host, bound_by, bound_at } = binding;
        let values = values![account_id, credential_path, host, bound_by, *bound_at];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Removes the binding of a credential to a host. False if there is none.
    pub async fn credential_unbind(
        &mut self,
        account_id: &AccountId,
        path: &str,
        host: &str,
    ) -> Result<bool, StoreError> {
        let sql =
            "DELETE FROM credential_bindings WHERE account_id = $1 AND credential_path = $2 AND host = $3";
        Ok(self.connection.execute(sql, values![account_id, path, host]).await? == 1)
    }
}
