//! Tokens with which agents enrol. Only the hash of the secret is stored.

use windlass_core::enrolment::{EnrolmentScope, EnrolmentToken, JoinPolicy};
use windlass_core::id::{AccountId, EnrolmentTokenId};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::observed::{number_from, stored_number};
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, values};
use crate::write::Writing;

const COLUMNS: &str = "id, account_id, target_kind, target_name, selector, policy, max_uses, uses, created_by, created_at, \
    expires_at, revoked_at";

fn read_scope(row: &Row) -> Result<EnrolmentScope, StoreError> {
    match row.optional_word("target_kind", Kind::from_word)? {
        Some(kind) => Ok(EnrolmentScope::Target(ResourceKey::new(kind, row.text("target_name")?))),
        None => Ok(EnrolmentScope::Nodes(row.json("selector")?)),
    }
}

fn read_token(row: &Row) -> Result<EnrolmentToken, StoreError> {
    Ok(EnrolmentToken {
        id: row.id("id")?,
        account_id: row.id("account_id")?,
        scope: read_scope(row)?,
        policy: row.word("policy", JoinPolicy::from_slug)?,
        max_uses: number_from(row.number("max_uses")?),
        uses: number_from(row.number("uses")?),
        created_by: row.text("created_by")?,
        created_at: row.timestamp("created_at")?,
        expires_at: row.timestamp("expires_at")?,
        revoked_at: row.optional_timestamp("revoked_at")?,
    })
}

impl Reading {
    /// The token with this hash of its secret, whether it is still valid or not.
    pub async fn enrolment_token_by_hash(
        &mut self,
        hash: &str,
    ) -> Result<Option<EnrolmentToken>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM enrolment_tokens WHERE secret_hash = $1");
        let rows = self.connection.rows_built(sql, values![hash]).await?;
        rows.first().map(read_token).transpose()
    }

    /// The tokens of an account with which agents can still enrol, newest first, at most `limit`.
    pub async fn enrolment_tokens(
        &mut self,
        account_id: &AccountId,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<EnrolmentToken>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM enrolment_tokens WHERE account_id = $1 AND expires_at > $2 \
             AND revoked_at IS NULL AND uses < max_uses ORDER BY id DESC LIMIT $3"
        );
        let rows = self.connection.rows_built(sql, values![account_id, now, limit]).await?;
        rows.iter().map(read_token).collect()
    }
}

impl Writing {
    /// Adds a token.
    pub async fn enrolment_token_add(
        &mut self,
        token: &EnrolmentToken,
        secret_hash: &str,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO enrolment_tokens (id, account_id, secret_hash, target_kind, target_name, selector, policy, \
                   max_uses, uses, created_by, created_at, expires_at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11)";
        let (target, selector) = match &token.scope {
            EnrolmentScope::Target(target) => (Some(target), None),
            EnrolmentScope::Nodes(selector) => (None, serde_json::to_string(selector).ok()),
        };
        let values = values![
            &token.id,
            &token.account_id,
            secret_hash,
            target.map(|target| target.kind.slug()),
            target.map(|target| target.name.as_str()),
            selector,
            token.policy.slug(),
            stored_number(token.max_uses),
            &token.created_by,
            token.created_at,
            token.expires_at
        ];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Uses a token once, in the transaction that enrols the agent. False if it cannot be used any more.
    pub async fn enrolment_token_use(
        &mut self,
        id: &EnrolmentTokenId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE enrolment_tokens SET uses = uses + 1 \
                   WHERE id = $1 AND uses < max_uses AND expires_at > $2 AND revoked_at IS NULL";
        Ok(self.connection.execute(sql, values![id, now]).await? == 1)
    }

    /// Revokes a token of an account. False if there is none, or if it was revoked before.
    pub async fn enrolment_token_revoke(
        &mut self,
        account_id: &AccountId,
        id: &EnrolmentTokenId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE enrolment_tokens SET revoked_at = $3 \
                   WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL";
        Ok(self.connection.execute(sql, values![account_id, id, now]).await? == 1)
    }

    /// Deletes tokens that expired before this time.
    pub async fn enrolment_tokens_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("enrolment_tokens", "id", "expires_at < $1");
        self.delete_old(old, values![before], budget).await
    }
}
