//! Deliveries: notifications on their way to providers, and how far the events of each account were looked at.

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
    /// Its id, the same over all attempts.
    pub id: DeliveryId,
    /// Its account.
    pub account_id: AccountId,
    /// The alert that tells it; empty for a test or a digest.
    pub alert: String,
    /// The provider it goes through.
    pub provider: String,
    /// The number of the event; none for a test or a digest.
    pub event_seq: Option<i64>,
    /// The kind of the event.
    pub event_kind: String,
    /// The same for everything that is the same to its readers.
    pub group_key: String,
    /// What is told.
    pub message: Json,
    /// What became of it.
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: i64,
    /// How often the same happened again and was not told.
    pub repeats: i64,
    /// When it is tried next.
    pub next_at: Timestamp,
    /// Why the last try failed.
    pub last_error: Option<String>,
    /// When trying began.
    pub since: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it arrived or was given up.
    pub finished_at: Option<Timestamp>,
}

/// What an attempt came to.
#[derive(Clone, Debug)]
pub struct DeliveryAttempt {
    /// What the delivery is now.
    pub state: DeliveryState,
    /// When it is tried again, if it is.
    pub next_at: Timestamp,
    /// Why it failed.
    pub error: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Which deliveries to list.
#[derive(Clone, Debug, Default)]
pub struct DeliveryFilter {
    /// Through this provider.
    pub provider: Option<String>,
    /// In this state.
    pub state: Option<DeliveryState>,
}

/// An account whose events were not all looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventBacklog {
    /// Which.
    pub account_id: AccountId,
    /// The number of its last event.
    pub last: i64,
    /// The event up to which they were looked at; none if nobody looks yet.
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
    /// Accounts with events that were not looked at.
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

    /// The number of the last event of an account before a moment; 0 if there is none.
    pub async fn event_before(&mut self, account_id: &AccountId, at: Timestamp) -> Result<i64, StoreError> {
        let sql = "SELECT seq FROM events WHERE account_id = $1 AND at < $2 ORDER BY seq DESC LIMIT 1";
        let rows = self.connection.rows(sql, values![account_id, at]).await?;
        rows.first().map_or(Ok(0), |row| row.number("seq"))
    }

    /// The last delivery of each of these groups since a moment: its id, by group.
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

    /// How many deliveries each provider of an account was given since a moment, without those that were suppressed.
    pub async fn deliveries_counted(
        &mut self,
        account_id: &AccountId,
        since: Timestamp,
    ) -> Result<BTreeMap<String, usize>, StoreError> {
        // By time, for which a plain filter by account would not be used: the others of this minute are few.
        let sql = "SELECT provider, COUNT(*) AS count FROM deliveries \
                   WHERE created_at > $2 AND account_id || '' = $1 AND state <> 'suppressed' GROUP BY provider";
        let rows = self.connection.rows(sql, values![account_id, since]).await?;
        rows.iter().map(|row| Ok((row.text("provider")?, row.count("count")?))).collect()
    }

    /// Providers for which deliveries were suppressed that no digest told of: account, provider and how many.
    pub async fn deliveries_untold(&mut self) -> Result<Vec<(AccountId, String, usize)>, StoreError> {
        let sql = "SELECT account_id, provider, COUNT(*) AS count FROM deliveries \
                   WHERE state = 'suppressed' AND digest_id IS NULL GROUP BY account_id, provider \
                   ORDER BY account_id, provider";
        let rows = self.connection.rows(sql, Vec::new()).await?;
        rows.iter()
            .map(|row| Ok((row.id("account_id")?, row.text("provider")?, row.count("count")?)))
            .collect()
    }

    /// Deliveries that are to be tried now, those that wait longest first.
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
    /// Notes up to which event an account's alerts were looked at.
    pub async fn cursor_set(&mut self, account_id: &AccountId, seq: i64) -> Result<(), StoreError> {
        let sql = "INSERT INTO notification_cursors (account_id, seq) VALUES ($1, $2) \
                   ON CONFLICT (account_id) DO UPDATE SET seq = excluded.seq";
        self.connection.execute(sql, values![account_id, seq]).await?;
        Ok(())
    }

    /// Forgets how far an account was looked at: nobody looks any more.
    pub async fn cursor_remove(&mut self, account_id: &AccountId) -> Result<(), StoreError> {
        let sql = "DELETE FROM notification_cursors WHERE account_id = $1";
        self.connection.execute(sql, values![account_id]).await?;
        Ok(())
    }

    /// Adds deliveries. Those of an event that the same alert and provider have already are left as they are.
    pub async fn deliveries_add(&mut self, deliveries: &[Delivery]) -> Result<u64, StoreError> {
        let rows = deliveries.iter().map(row_of).collect();
        let prefix = "INSERT INTO deliveries (id, account_id, alert, provider, event_seq, event_kind, group_key, \
                      message, state, attempts, repeats, next_at, last_error, since, created_at, finished_at) VALUES";
        let suffix = "ON CONFLICT (account_id, alert, provider, event_seq) DO NOTHING";
        self.connection.execute_many(prefix, rows, suffix).await
    }

    /// Counts what happened again and was not told.
    pub async fn delivery_repeated(&mut self, id: &DeliveryId, times: i64) -> Result<(), StoreError> {
        let sql = "UPDATE deliveries SET repeats = repeats + $2 WHERE id = $1";
        self.connection.execute(sql, values![id, times]).await?;
        Ok(())
    }

    /// Notes that a digest tells of everything that was suppressed for a provider.
    pub async fn deliveries_digested(
        &mut self,
        account_id: &AccountId,
        provider: &str,
        digest_id: &DeliveryId,
    ) -> Result<u64, StoreError> {
        let sql = "UPDATE deliveries SET digest_id = $3 WHERE account_id = $1 AND provider = $2 \
                   AND state = 'suppressed' AND digest_id IS NULL";
        self.connection.execute(sql, values![account_id, provider, digest_id]).await
    }

    /// Notes what an attempt came to. False if the delivery is no longer to be sent.
    pub async fn delivery_attempted(
        &mut self,
        id: &DeliveryId,
        tried: &DeliveryAttempt,
    ) -> Result<bool, StoreError> {
        let finished = (tried.state != DeliveryState::Pending).then_some(tried.at);
        let sql = "UPDATE deliveries SET state = $2, attempts = attempts + 1, next_at = $3, last_error = $4, \
                   finished_at = $5 WHERE id = $1 AND state = 'pending'";
        let values = values![id, tried.state.slug(), tried.next_at, &tried.error, finished];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Makes a delivery due now, whatever became of it, unless it arrived. False if it did, or is not there.
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

    /// Forgets deliveries older than a moment that are over.
    pub async fn deliveries_forget(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("deliveries", "id", "created_at < $1 AND state <> 'pending'");
        self.delete_old(old, values![before], budget).await
    }
}
