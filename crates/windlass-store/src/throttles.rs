//! Counts of failed sign-ins, and the address blocks from which people signed in.

use std::time::Duration;

use windlass_core::id::UserId;
use windlass_core::inbound::throttle::FailureCount;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::retention::{OldRows, RowBudget};
use crate::sql::values;
use crate::write::Writing;

/// How many address blocks are kept for one person.
const PLACES_PER_PERSON: i64 = 32;

impl Reading {
    /// The failures of a subject.
    pub async fn failures(&mut self, subject: &str) -> Result<Option<FailureCount>, StoreError> {
        let sql = "SELECT failures, last_at FROM throttles WHERE subject = $1";
        let rows = self.connection.rows(sql, values![subject]).await?;
        rows.first()
            .map(|row| {
                Ok(FailureCount { count: row.number("failures")?, last_at: row.timestamp("last_at")? })
            })
            .transpose()
    }

    /// How many subjects have failures.
    pub async fn failures_count(&mut self) -> Result<usize, StoreError> {
        let rows = self.connection.rows("SELECT COUNT(*) AS count FROM throttles", Vec::new()).await?;
        rows.first().map_or(Ok(0), |row| row.count("count"))
    }

    /// Whether a person signed in from an address block.
    pub async fn sign_in_place_is_known(
        &mut self,
        user_id: &UserId,
        block: &str,
    ) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM sign_in_places WHERE user_id = $1 AND block = $2";
        Ok(!self.connection.rows(sql, values![user_id, block]).await?.is_empty())
    }
}

impl Writing {
    /// Blocks other transactions from counting failures of a subject until this transaction ends.
    pub async fn failures_lock(&mut self, subject: &str) -> Result<(), StoreError> {
        let sql = "UPDATE throttles SET failures = failures WHERE subject = $1";
        self.connection.execute(sql, values![subject]).await?;
        Ok(())
    }

    /// Counts a failure. Without further failures, the count decreases by one after each `forgets_one_in`, if given.
    pub async fn failure_add(
        &mut self,
        subject: &str,
        forgets_one_in: Option<Duration>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let forgets = forgets_one_in.and_then(|time| i64::try_from(time.as_millis()).ok());
        let forgets = forgets.unwrap_or(i64::MAX).max(1);
        let sql = "INSERT INTO throttles (subject, failures, first_at, last_at) VALUES ($1, 1, $2, $2) \
                   ON CONFLICT (subject) DO UPDATE SET last_at = excluded.last_at, failures = CASE \
                   WHEN (excluded.last_at - throttles.last_at) / $3 >= throttles.failures THEN 1 \
                   ELSE throttles.failures - (excluded.last_at - throttles.last_at) / $3 + 1 END";
        self.connection.execute(sql, values![subject, now, forgets]).await?;
        Ok(())
    }

    /// Uncounts a failure that was counted for an attempt which then succeeded.
    pub async fn failure_undo(&mut self, subject: &str) -> Result<(), StoreError> {
        let sql = "UPDATE throttles SET failures = failures - 1 WHERE subject = $1 AND failures > 0";
        self.connection.execute(sql, values![subject]).await?;
        Ok(())
    }

    /// Deletes the failures of a subject.
    pub async fn failures_clear(&mut self, subject: &str) -> Result<(), StoreError> {
        self.connection.execute("DELETE FROM throttles WHERE subject = $1", values![subject]).await?;
        Ok(())
    }

    /// Deletes the failures of all subjects with this prefix. The prefix must not contain wildcards of LIKE.
    pub async fn failures_clear_all(&mut self, beginning: &str) -> Result<(), StoreError> {
        let sql = "DELETE FROM throttles WHERE subject LIKE $1";
        self.connection.execute(sql, values![format!("{beginning}%")]).await?;
        Ok(())
    }

    /// Deletes subjects whose last failure is older than a time, and all but the newest `most`.
    pub async fn failures_delete_old(
        &mut self,
        before: Timestamp,
        most: usize,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("throttles", "subject", "last_at < $1");
        let forgotten = self.delete_old(old, values![before], budget).await?;
        let over = "subject NOT IN (SELECT subject FROM throttles ORDER BY last_at DESC, subject LIMIT $1)";
        let over = OldRows::new("throttles", "subject", over);
        Ok(forgotten + self.delete_old(over, values![most], budget).await?)
    }

    /// Records that a person signed in from an address block, and deletes the oldest blocks of the person.
    pub async fn sign_in_place_record(
        &mut self,
        user_id: &UserId,
        block: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO sign_in_places (user_id, block, last_at) VALUES ($1, $2, $3) \
                   ON CONFLICT (user_id, block) DO UPDATE SET last_at = excluded.last_at";
        self.connection.execute(sql, values![user_id, block, now]).await?;
        let sql = "DELETE FROM sign_in_places WHERE user_id = $1 AND block NOT IN (SELECT block FROM \
                   sign_in_places WHERE user_id = $1 ORDER BY last_at DESC, block LIMIT $2)";
        self.connection.execute(sql, values![user_id, PLACES_PER_PERSON]).await?;
        Ok(())
    }

    /// Deletes address blocks from which a person did not sign in since a time.
    pub async fn sign_in_places_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("sign_in_places", "user_id, block", "last_at < $1");
        self.delete_old(old, values![before], budget).await
    }
}
