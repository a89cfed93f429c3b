//! Notification deliveries, and up to which event each account was checked for alerts.

use std::collections::BTreeMap;

use serde_json::Value as Json;
pub use windlass_core::delivery::DeliveryState;
use windlass_core::id::{AccountId, DeliveryId};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, Value, values};
use crate::write::Writing;

/// A notification for one provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// Its id, the same for all attempts.
    pub id: DeliveryId,
    /// Its account.
    pub account_id: AccountId,
    /// The alert that selected the event; empty for a test or a digest.
    pub alert: String,
    /// The notification provider.
    pub provider: String,
    /// The number of the event; none for a test or a digest.
    pub event_seq: Option<i64>,
    /// The kind of the event.
    pub event_kind: String,
    /// The key for deduplication: equal for notifications that are the same to their readers.
    pub group_key: String,
    /// The notification.
    pub message: Json,
    /// Its state.
    pub state: DeliveryState,
    /// How many attempts were made since `since`.
    pub attempts: i64,
    /// How often the same happened again without another notification.
    pub repeats: i64,
    /// When the next attempt is due.
    pub next_at: Timestamp,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// When the attempts began.
    pub since: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was sent or the attempts ended.
    pub finished_at: Option<Timestamp>,
}

/// The result of an attempt.
#[derive(Clone, Debug)]
pub struct DeliveryAttempt {
    /// The new state of the delivery.
    pub state: DeliveryState,
    /// When the next attempt is due, if there is one.
    pub next_at: Timestamp,
    /// Why it failed.
    pub error: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Which deliveries to list.
#[derive(Clone, Debug, Default)]
pub struct DeliveryFilter {
    /// To this provider.
    pub provider: Option<String>,
    /// In this state.
    pub state: Option<DeliveryState>,
}

/// An account with events that were not checked for alerts yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventBacklog {
    /// The account.
    pub account_id: AccountId,
    /// The number of its last event.
    pub last: i64,
    /// The last event that was checked; none if the account is not checked yet.
    pub cursor: Option<i64>,
}

const COLUMNS: &str = "id, account_id, alert, provider, event_seq, event_kind, group_key, message, state, attempts, \
                       repeats, next_at, last_error, since, created_at, finished_at";

fn read_delivery(row: &Row) -> Result<Delivery, StoreError> {
    Ok(Delivery {
        id: row.id("id")?,
        account_id: row.id("account_id")?,
        alert: row.text("alert")?,
        provider: row.text("provider")?,
        event_seq: row.optional_number("event_seq")?,
        event_kind: row.text("event_kind")?,
        group_key: row.text("group_key")?,
        message: row.json("message")?,
        state: row.word("state", DeliveryState::from_slug)?,
        attempts: row.number("attempts")?,
        repeats: row.number("repeats")?,
        next_at: row.timestamp("next_at")?,
        last_error: row.optional_text("last_error")?,
        since: row.timestamp("since")?,
        created_at: row.timestamp("created_at")?,
        finished_at: row.optional_timestamp("finished_at")?,
    })
}

fn row_of(delivery: &Delivery) -> Vec<Value> {
    let mut row = values![
        &delivery.id,
        &delivery.account_id,
        &delivery.alert,
        &delivery.provider,
        Value::Number(delivery.event_seq),
        &delivery.event_kind,
        &delivery.group_key,
        delivery.message.to_string(),
        delivery.state.slug(),
        delivery.attempts,
        delivery.repeats,
        delivery.next_at,
    ];
    row.extend(values![&delivery.last_error, delivery.since, delivery.created_at, delivery.finished_at]);
    row
}

impl Reading {
    /// Accounts with events that were not checked for alerts yet.
    pub async fn accounts_with_backlog(&mut self) -> Result<Vec<EventBacklog>, StoreError> {
        let sql = "SELECT chains.account_id, chains.event_seq, notification_cursors.seq AS cursor FROM chains \
                   LEFT JOIN notification_cursors ON notification_cursors.account_id = chains.account_id \
                   WHERE chains.account_id <> '' AND chains.event_seq > COALESCE(notification_cursors.seq, 0) \
                   ORDER BY chains.account_id";
        let rows = self.connection.rows(sql, Vec::new()).await?;
        rows.iter()
            .map(|row| {
                Ok(EventBacklog {
                    account_id: row.id("account_id")?,
                    last: row.number("event_seq")?,
                    cursor: row.optional_number("cursor")?,
                })
            })
            .collect()
    }

    /// The number of the last event of an account before a time; 0 if there is none.
    pub async fn event_before(&mut self, account_id: &AccountId, at: Timestamp) -> Result<i64, StoreError> {
        let sql = "SELECT seq FROM events WHERE account_id = $1 AND at < $2 ORDER BY seq DESC LIMIT 1";
        let rows = self.connection.rows(sql, values![account_id, at]).await?;
        rows.first().map_or(Ok(0), |row| row.number("seq"))
    }

    /// The last delivery of each of these groups since a time: its id, by group.
    pub async fn deliveries_of_groups(
        &mut self,
        account_id: &AccountId,
        groups: &[&str],
        since: Timestamp,
    ) -> Result<BTreeMap<String, DeliveryId>, StoreError> {
        let rows = groups.iter().map(|group| values![account_id, *group, since]).collect();
        let prefix = "WITH given (account_id, group_key, since) AS (VALUES";
        let suffix = ") SELECT deliveries.group_key, MAX(deliveries.id) AS last_id FROM given CROSS JOIN deliveries \
                      WHERE deliveries.account_id = given.account_id AND deliveries.group_key = given.group_key \
                      AND deliveries.created_at > given.since GROUP BY deliveries.group_key";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter().map(|row| Ok((row.text("group_key")?, row.id("last_id")?))).collect()
    }

    /// How many deliveries were created for each provider of an account since a time, without suppressed ones.
    pub async fn deliveries_count(
        &mut self,
        account_id: &AccountId,
        since: Timestamp,
    ) -> Result<BTreeMap<String, usize>, StoreError> {
        // `|| ''` keeps the database from using an index by account. The index by time reads fewer rows: `since` is
        // recent.
        let sql = "SELECT provider, COUNT(*) AS count FROM deliveries \
                   WHERE created_at > $2 AND account_id || '' = $1 AND state <> 'suppressed' GROUP BY provider";
        let rows = self.connection.rows(sql, values![account_id, since]).await?;
        rows.iter().map(|row| Ok((row.text("provider")?, row.count("count")?))).collect()
    }

    /// Providers with suppressed deliveries that are in no digest yet: account, provider and how many.
    pub async fn deliveries_without_digest(&mut self) -> Result<Vec<(AccountId, String, usize)>, StoreError> {
        let sql = "SELECT account_id, provider, COUNT(*) AS count FROM deliveries \
                   WHERE state = 'suppressed' AND digest_id IS NULL GROUP BY account_id, provider \
                   ORDER BY account_id, provider";
        let rows = self.connection.rows(sql, Vec::new()).await?;
        rows.iter()
            .map(|row| Ok((row.id("account_id")?, row.text("provider")?, row.count("count")?)))
            .collect()
    }

    /// Deliveries that are due. Accounts take turns, and so do the providers of an account; otherwise the longest due
    /// come first.
    pub async fn deliveries_due(
        &mut self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM (SELECT due.*, ROW_NUMBER() OVER (PARTITION BY account_id \
             ORDER BY in_lane, next_at, id) AS in_account FROM (SELECT deliveries.*, ROW_NUMBER() OVER \
             (PARTITION BY account_id, provider ORDER BY next_at, id) AS in_lane FROM deliveries \
             WHERE state = 'pending' AND next_at <= $1) AS due) AS fair ORDER BY in_account, next_at, id LIMIT {limit}"
        );
        let rows = self.connection.rows_built(sql, values![now]).await?;
        rows.iter().map(read_delivery).collect()
    }

    /// Deliveries of an account, newest first, before an id.
    pub async fn deliveries(
        &mut self,
        account_id: &AccountId,
        filter: &DeliveryFilter,
        before: Option<&DeliveryId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        let mut values = values![account_id];
        let mut sql = format!("SELECT {COLUMNS} FROM deliveries WHERE account_id = $1");
        let mut add = |clause: &str, value: Value| {
            values.push(value);
            sql.push_str(&format!(" AND {clause} ${}", values.len()));
        };
        if let Some(provider) = &filter.provider {
            add("provider =", provider.into());
        }
        if let Some(state) = filter.state {
            add("state =", state.slug().into());
        }
        if let Some(before) = before {
            add("id <", before.into());
        }
        sql.push_str(&format!(" ORDER BY id DESC LIMIT {limit}"));
        let rows = self.connection.rows_built(sql, values).await?;
        rows.iter().map(read_delivery).collect()
    }

    /// A delivery.
    pub async fn delivery(
        &mut self,
        account_id: &AccountId,
        id: &DeliveryId,
    ) -> Result<Option<Delivery>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM deliveries WHERE id = $1 AND account_id = $2");
        let rows = self.connection.rows_built(sql, values![id, account_id]).await?;
        rows.first().map(read_delivery).transpose()
    }
}

impl Writing {
    /// Records up to which event an account was checked for alerts.
    pub async fn cursor_set(&mut self, account_id: &AccountId, seq: i64) -> Result<(), StoreError> {
        let sql = "INSERT INTO notification_cursors (account_id, seq) VALUES ($1, $2) \
                   ON CONFLICT (account_id) DO UPDATE SET seq = excluded.seq";
        self.connection.execute(sql, values![account_id, seq]).await?;
        Ok(())
    }

    /// Deletes the position of an account whose events are no longer checked for alerts.
    pub async fn cursor_remove(&mut self, account_id: &AccountId) -> Result<(), StoreError> {
        let sql = "DELETE FROM notification_cursors WHERE account_id = $1";
        self.connection.execute(sql, values![account_id]).await?;
        Ok(())
    }

    /// Adds deliveries, except those that already exist for the same event, alert and provider.
    pub async fn deliveries_add(&mut self, deliveries: &[Delivery]) -> Result<u64, StoreError> {
        let rows = deliveries.iter().map(row_of).collect();
        let prefix = "INSERT INTO deliveries (id, account_id, alert, provider, event_seq, event_kind, group_key, \
                      message, state, attempts, repeats, next_at, last_error, since, created_at, finished_at) VALUES";
        let suffix = "ON CONFLICT (account_id, alert, provider, event_seq) DO NOTHING";
        self.connection.execute_many(prefix, rows, suffix).await
    }

    /// Counts repetitions for which no notification is sent.
    pub async fn delivery_add_repeats(&mut self, id: &DeliveryId, times: i64) -> Result<(), StoreError> {
        let sql = "UPDATE deliveries SET repeats = repeats + $2 WHERE id = $1";
        self.connection.execute(sql, values![id, times]).await?;
        Ok(())
    }

    /// Records that a digest includes everything that was suppressed for a provider.
    pub async fn deliveries_mark_digested(
        &mut self,
        account_id: &AccountId,
        provider: &str,
        digest_id: &DeliveryId,
    ) -> Result<u64, StoreError> {
        let sql = "UPDATE deliveries SET digest_id = $3 WHERE account_id = $1 AND provider = $2 \
                   AND state = 'suppressed' AND digest_id IS NULL";
        self.connection.execute(sql, values![account_id, provider, digest_id]).await
    }

    /// Records the result of an attempt. False if the delivery is no longer pending.
    pub async fn delivery_record_attempt(
        &mut self,
        id: &DeliveryId,
        attempt: &DeliveryAttempt,
    ) -> Result<bool, StoreError> {
        let finished = (attempt.state != DeliveryState::Pending).then_some(attempt.at);
        let sql = "UPDATE deliveries SET state = $2, attempts = attempts + 1, next_at = $3, last_error = $4, \
                   finished_at = $5 WHERE id = $1 AND state = 'pending'";
        let values = values![id, attempt.state.slug(), attempt.next_at, &attempt.error, finished];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Makes a delivery pending and due now. False if it was sent or does not exist.
    pub async fn delivery_retry(
        &mut self,
        account_id: &AccountId,
        id: &DeliveryId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE deliveries SET state = 'pending', next_at = $3, since = $3, attempts = 0, \
                   finished_at = NULL WHERE id = $2 AND account_id = $1 AND state <> 'sent'";
        Ok(self.connection.execute(sql, values![account_id, id, now]).await? == 1)
    }

    /// Deletes deliveries created before a time that are not pending.
    pub async fn deliveries_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("deliveries", "id", "created_at < $1 AND state <> 'pending'");
        self.delete_old(old, values![before], budget).await
    }
}
