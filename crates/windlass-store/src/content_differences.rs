//! Differences in the files that resources name, kept as long as proposals.

use windlass_core::content::{ContentChange, ContentDifference};
use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Value, values};
use crate::write::{AccountWriting, Writing};

fn key_row(account_id: &AccountId, change: &ContentChange) -> Vec<Value> {
    let before = change.before.map(|before| before.to_string()).unwrap_or_default();
    values![account_id, &change.path, before, change.after.to_string()]
}

impl Reading {
    /// The stored differences of these changes, in no order.
    pub async fn content_differences(
        &mut self,
        account_id: &AccountId,
        changes: &[ContentChange],
    ) -> Result<Vec<ContentDifference>, StoreError> {
        let rows = changes.iter().map(|change| key_row(account_id, change)).collect();
        let prefix = "WITH given (account_id, path, before_id, after_id) AS (VALUES";
        let suffix = ") SELECT document FROM given CROSS JOIN content_differences AS found \
                      WHERE found.account_id = given.account_id AND found.path = given.path \
                      AND found.before_id = given.before_id AND found.after_id = given.after_id";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter().map(|row| row.json("document")).collect()
    }
}

impl AccountWriting {
    /// Stores differences. A partial difference does not replace a complete one.
    pub async fn content_differences_put(
        &mut self,
        differences: &[ContentDifference],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let account_id = self.account_id().clone();
        let row = |difference: &ContentDifference| {
            let mut row = key_row(&account_id, &difference.change);
            let document =
                serde_json::to_string(difference).expect("plain values always serialize into memory");
            row.extend(values![document, now]);
            row
        };
        let (partial, full): (Vec<_>, Vec<_>) = differences.iter().partition(|found| found.note.is_some());
        let prefix = "INSERT INTO content_differences (account_id, path, before_id, after_id, document, made_at) VALUES";
        let suffix =
            "ON CONFLICT (account_id, path, before_id, after_id) DO UPDATE SET made_at = excluded.made_at";
        self.connection.execute_many(prefix, partial.into_iter().map(row).collect(), suffix).await?;
        let suffix = "ON CONFLICT (account_id, path, before_id, after_id) DO UPDATE SET made_at = excluded.made_at, \
                      document = excluded.document";
        self.connection.execute_many(prefix, full.into_iter().map(row).collect(), suffix).await?;
        Ok(())
    }
}

impl Writing {
    /// Deletes differences stored before a time, in accounts without older proposals.
    pub async fn content_differences_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new(
            "content_differences",
            "account_id, path, before_id, after_id",
            "made_at < $1 AND NOT EXISTS (SELECT 1 FROM proposals \
             WHERE proposals.account_id = content_differences.account_id AND proposals.opened_at < $1)",
        );
        self.delete_old(old, values![before], budget).await
    }
}
