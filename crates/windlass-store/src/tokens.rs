//! API tokens for scripts and machines. Tokens have a name, permissions and an expiry; only the hash of the secret is
//! stored.

use windlass_core::id::{AccountId, TokenId, UserId};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::{Row, values};
use crate::write::Writing;

/// An API token. The secret itself is never stored.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// Its account.
    pub account_id: AccountId,
    /// What it is for.
    pub name: String,
    /// Its permissions.
    pub permissions: Vec<String>,
    /// Who created it. The token never has more permissions than this person.
    pub created_by: UserId,
    /// When.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// When someone revoked it.
    pub revoked_at: Option<Timestamp>,
}

const COLUMNS: &str =
    "id, account_id, name, permissions, created_by, created_at, expires_at, last_used_at, revoked_at";

fn read_token(row: &Row) -> Result<Token, StoreError> {
    Ok(Token {
        id: row.id("id")?,
        account_id: row.id("account_id")?,
        name: row.text("name")?,
        permissions: row.json("permissions")?,
        created_by: row.id("created_by")?,
        created_at: row.timestamp("created_at")?,
        expires_at: row.optional_timestamp("expires_at")?,
        last_used_at: row.optional_timestamp("last_used_at")?,
        revoked_at: row.optional_timestamp("revoked_at")?,
    })
}

impl Reading {
    /// The token with this hash of its secret.
    pub async fn token_by_hash(&mut self, hash: &str) -> Result<Option<Token>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM tokens WHERE secret_hash = $1");
        let rows = self.connection.rows_built(sql, values![hash]).await?;
        rows.first().map(read_token).transpose()
    }

    /// The tokens of an account, newest first.
    pub async fn tokens(&mut self, account_id: &AccountId) -> Result<Vec<Token>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM tokens WHERE account_id = $1 ORDER BY id DESC");
        let rows = self.connection.rows_built(sql, values![account_id]).await?;
        rows.iter().map(read_token).collect()
    }
}

impl Writing {
    /// Adds a token.
    pub async fn token_add(&mut self, token: &Token, secret_hash: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO tokens (id, account_id, name, secret_hash, permissions, created_by, created_at, \
                   expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let permissions = serde_json::Value::from(token.permissions.clone()).to_string();
        let values = values![
            &token.id,
            &token.account_id,
            &token.name,
            secret_hash,
            permissions,
            &token.created_by,
            token.created_at,
            token.expires_at
        ];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Revokes a token. False if there is none.
    pub async fn token_revoke(
        &mut self,
        account_id: &AccountId,
        id: &TokenId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql =
            "UPDATE tokens SET revoked_at = $3 WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL";
        Ok(self.connection.execute(sql, values![account_id, id, now]).await? == 1)
    }

    /// Revokes every token of a person, in all accounts. Returns how many.
    pub async fn tokens_revoke_all(&mut self, user_id: &UserId, now: Timestamp) -> Result<u64, StoreError> {
        let sql = "UPDATE tokens SET revoked_at = $2 WHERE created_by = $1 AND revoked_at IS NULL";
        self.connection.execute(sql, values![user_id, now]).await
    }

    /// Records that a token was used.
    pub async fn token_record_use(&mut self, id: &TokenId, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE tokens SET last_used_at = $2 WHERE id = $1";
        self.connection.execute(sql, values![id, now]).await?;
        Ok(())
    }
}
