//! Events of agents that are not numbered yet.
//!
//! Events of an account are numbered without gaps, which takes the lock of the account. A report must not wait for that
//! lock, so its events are stored here first, in the transaction of the report, and moved to `events` soon afterwards.

use serde_json::Value as Json;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::id::AccountId;
use windlass_core::resource::ResourceKey;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_target, resource_row};
use crate::page::unique_text;
use crate::sql::{Row, values};
use crate::write::{AccountWriting, Writing};

/// An event of an agent.
#[derive(Clone, Debug)]
pub struct NewAgentEvent {
    /// The account of the agent.
    pub account_id: AccountId,
    /// The node or cluster of the agent.
    pub target: ResourceKey,
    /// The kind of event.
    pub kind: EventKind,
    /// How severe it is.
    pub severity: Severity,
    /// One line of text.
    pub message: String,
    /// Details for machines.
    pub payload: Json,
    /// When the server received it.
    pub at: Timestamp,
}

fn read_event(row: &Row) -> Result<NewEvent, StoreError> {
    let target = read_target(row)?;
    Ok(NewEvent {
        kind: row.word("kind", EventKind::from_slug)?,
        severity: row.word("severity", Severity::from_slug)?,
        source: format!("agent of {target}"),
        resource: Some(target),
        repository_id: None,
        correlation_id: None,
        message: row.text("message")?,
        payload: row.json("payload")?,
        at: row.timestamp("at")?,
    })
}

impl Reading {
    /// The accounts with events of agents that are not numbered yet.
    pub async fn agent_events_accounts(&mut self) -> Result<Vec<AccountId>, StoreError> {
        let sql = "SELECT DISTINCT account_id FROM agent_events ORDER BY account_id";
        let rows = self.connection.rows(sql, values![]).await?;
        rows.iter().map(|row| row.id("account_id")).collect()
    }
}

impl Writing {
    /// Stores events of agents, in this order.
    pub async fn agent_events_add(&mut self, events: Vec<NewAgentEvent>) -> Result<(), StoreError> {
        let rows = events
            .into_iter()
            .map(|event| {
                let mut row = values![unique_text()];
                row.extend(resource_row(&event.account_id, &event.target));
                row.extend(values![
                    event.kind.slug(),
                    event.severity.slug(),
                    event.message,
                    event.payload.to_string(),
                    event.at
                ]);
                row
            })
            .collect();
        let prefix = "INSERT INTO agent_events (id, account_id, target_kind, target_name, kind, severity, message, \
                      payload, at) VALUES";
        self.connection.execute_many(prefix, rows, "").await?;
        Ok(())
    }
}

impl AccountWriting {
    /// Moves the oldest events of the account's agents to its events. Returns how many.
    pub async fn agent_events_number(&mut self, limit: usize) -> Result<usize, StoreError> {
        let account_id = self.account_id().clone();
        let sql = "SELECT id, target_kind, target_name, kind, severity, message, payload, at FROM agent_events \
                   WHERE account_id = $1 ORDER BY id LIMIT $2";
        let rows = self.connection.rows(sql, values![&account_id, limit]).await?;
        for row in &rows {
            let event = read_event(row)?;
            self.event(event);
        }
        // By id: reports may have added events with earlier ids since these were read.
        let ids: Result<Vec<_>, StoreError> = rows.iter().map(|row| Ok(values![row.text("id")?])).collect();
        self.connection.execute_many("DELETE FROM agent_events WHERE id IN (VALUES", ids?, ")").await?;
        Ok(rows.len())
    }
}
