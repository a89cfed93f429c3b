//! Small things the installation remembers: settings, answers to repeated requests, failed logins.

use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::{Row, values};
use crate::write::Writing;

/// An answer that was given to a request with an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The digest of the request, to tell a repetition from another request with the same key.
    pub request_digest: String,
    /// The HTTP status.
    pub status: i64,
    /// The body.
    pub body: String,
}

/// Failed logins for one address or one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// How many, one after the other.
    pub failures: i64,
    /// The last one.
    pub last_at: Timestamp,
}

impl Reading {
    /// A setting.
    pub async fn setting(&mut self, name: &str) -> Result<Option<String>, StoreError> {
        let mut rows =
            self.connection.rows("SELECT value FROM settings WHERE name = $1", values![name]).await?;
        rows.first_mut().map(Row::text).transpose()
    }

    /// The answer given to this key before.
    pub async fn answer(&mut self, account_id: &str, key: &str) -> Result<Option<Answer>, StoreError> {
        let sql =
            "SELECT request_digest, status, body FROM answers WHERE account_id = $1 AND idempotency_key = $2";
        let mut rows = self.connection.rows(sql, values![account_id, key]).await?;
        rows.first_mut()
            .map(|row| Ok(Answer { request_digest: row.text()?, status: row.number()?, body: row.text()? }))
            .transpose()
    }

    /// Failed logins of a subject.
    pub async fn throttle(&mut self, subject: &str) -> Result<Option<Throttle>, StoreError> {
        let sql = "SELECT failures, last_at FROM throttles WHERE subject = $1";
        let mut rows = self.connection.rows(sql, values![subject]).await?;
        rows.first_mut()
            .map(|row| Ok(Throttle { failures: row.number()?, last_at: row.moment()? }))
            .transpose()
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

    /// Changes a setting that is not there yet, and returns what it is now.
    pub async fn setting_default(&mut self, name: &str, value: &str) -> Result<String, StoreError> {
        let sql = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
        self.connection.execute(sql, values![name, value]).await?;
        Ok(self.setting(name).await?.unwrap_or_default())
    }

    /// Remembers an answer. False if the key is taken.
    pub async fn answer_add(
        &mut self,
        account_id: &str,
        key: &str,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO answers (account_id, idempotency_key, request_digest, status, body, at) \
                   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (account_id, idempotency_key) DO NOTHING";
        let values = values![account_id, key, &answer.request_digest, answer.status, &answer.body, now];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Forgets answers older than a moment.
    pub async fn answers_forget(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        self.connection.execute("DELETE FROM answers WHERE at < $1", values![before]).await
    }

    /// Counts a failed login.
    pub async fn throttle_count(&mut self, subject: &str, now: Timestamp) -> Result<(), StoreError> {
        let sql = "INSERT INTO throttles (subject, failures, first_at, last_at) VALUES ($1, 1, $2, $2) \
                   ON CONFLICT (subject) DO UPDATE SET failures = throttles.failures + 1, last_at = excluded.last_at";
        self.connection.execute(sql, values![subject, now]).await?;
        Ok(())
    }

    /// Forgets the failed logins of a subject.
    pub async fn throttle_clear(&mut self, subject: &str) -> Result<(), StoreError> {
        self.connection.execute("DELETE FROM throttles WHERE subject = $1", values![subject]).await?;
        Ok(())
    }

    /// Forgets failed logins whose last is older than a moment.
    pub async fn throttles_forget(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        self.connection.execute("DELETE FROM throttles WHERE last_at < $1", values![before]).await
    }
}
