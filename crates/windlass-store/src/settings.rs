//! Settings of the installation, and answers to requests with idempotency keys.

use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::retention::{OldRows, RowBudget};
use crate::sql::values;
use crate::write::Writing;

/// A request with an idempotency key that changed something or has an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedRequest {
    /// Its digest, to distinguish a repetition from another request with the same key.
    pub digest: String,
    /// The answer; none if the request is being carried out or the answer was lost.
    pub answer: Option<Answer>,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: i64,
    /// The body.
    pub body: String,
}

/// The stored status of a request without an answer; not a valid HTTP status.
const UNANSWERED: i64 = 0;

impl Reading {
    /// A setting.
    pub async fn setting(&mut self, name: &str) -> Result<Option<String>, StoreError> {
        let rows = self.connection.rows("SELECT value FROM settings WHERE name = $1", values![name]).await?;
        rows.first().map(|row| row.text("value")).transpose()
    }

    /// The earlier request with this key.
    pub async fn request(
        &mut self,
        account_id: &AccountId,
        key: &str,
    ) -> Result<Option<KeyedRequest>, StoreError> {
        let sql =
            "SELECT request_digest, status, body FROM answers WHERE account_id = $1 AND idempotency_key = $2";
        let rows = self.connection.rows(sql, values![account_id, key]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let (digest, answer) =
            (row.text("request_digest")?, Answer { status: row.number("status")?, body: row.text("body")? });
        Ok(Some(KeyedRequest { digest, answer: Some(answer).filter(|answer| answer.status != UNANSWERED) }))
    }
}

impl Writing {
    /// Changes a setting.
    pub async fn setting_put(&mut self, name: &str, value: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO settings (name, value) VALUES ($1, $2) \
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.connection.execute(sql, values![name, value]).await?;
        Ok(())
    }

    /// Stores a setting unless it exists, and returns its value.
    pub async fn setting_default(&mut self, name: &str, value: &str) -> Result<String, StoreError> {
        let sql = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
        self.connection.execute(sql, values![name, value]).await?;
        Ok(self.setting(name).await?.unwrap_or_default())
    }

    /// Records, as part of the transaction, that a request with this key changes something. False if the key was used
    /// before.
    pub async fn request_begin(
        &mut self,
        account_id: &AccountId,
        key: &str,
        digest: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO answers (account_id, idempotency_key, request_digest, status, body, at) \
                   VALUES ($1, $2, $3, $4, '', $5) ON CONFLICT (account_id, idempotency_key) DO NOTHING";
        let values = values![account_id, key, digest, UNANSWERED, now];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Stores the answer to a request, unless it has one already.
    pub async fn request_answer(
        &mut self,
        account_id: &AccountId,
        key: &str,
        digest: &str,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO answers (account_id, idempotency_key, request_digest, status, body, at) \
                   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (account_id, idempotency_key) \
                   DO UPDATE SET status = excluded.status, body = excluded.body \
                   WHERE answers.status = $7 AND answers.request_digest = excluded.request_digest";
        let values = values![account_id, key, digest, answer.status, &answer.body, now, UNANSWERED];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Deletes a request that was rejected, so that it can be retried.
    pub async fn request_delete(&mut self, account_id: &AccountId, key: &str) -> Result<(), StoreError> {
        let sql = "DELETE FROM answers WHERE account_id = $1 AND idempotency_key = $2 AND status = $3";
        self.connection.execute(sql, values![account_id, key, UNANSWERED]).await?;
        Ok(())
    }

    /// Deletes answers older than a time.
    pub async fn answers_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("answers", "account_id, idempotency_key", "at < $1");
        self.delete_old(old, values![before], budget).await
    }
}
