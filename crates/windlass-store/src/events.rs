//! Events: what happened in an account, numbered without gaps in the order of the commits.

use windlass_core::event::{Event, Severity};
use windlass_core::id::{AccountId, RepositoryId, RunId};
use windlass_core::resource::ResourceKey;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::page::{like_pattern, search_pattern};
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, Value, values};
use crate::write::Writing;

/// Which events to list.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// A kind, or a prefix of kinds that ends in `.`, as in `gitops.`.
    pub kind: Option<String>,
    /// Of one sync run.
    pub correlation_id: Option<RunId>,
    /// Of one repository.
    pub repository_id: Option<RepositoryId>,
    /// About one resource.
    pub resource: Option<ResourceKey>,
    /// A severity.
    pub severity: Option<Severity>,
    /// Text in the message; the case of ASCII letters does not matter.
    pub search: Option<String>,
}

/// The order of the events and where the list begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOrder {
    /// The newest first, before this number.
    NewestBefore(i64),
    /// The oldest first, after this number: for following.
    OldestAfter(i64),
}

const COLUMNS: &str = "seq, kind, severity, resource_kind, resource_name, repository_id, correlation_id, source, \
                       message, payload, at";

fn read_event(row: &Row) -> Result<Event, StoreError> {
    Ok(Event {
        seq: row.number("seq")?,
        kind: row.text("kind")?,
        severity: row.word("severity", Severity::from_slug)?,
        resource_kind: row.optional_text("resource_kind")?,
        resource_name: row.optional_text("resource_name")?,
        repository_id: row.optional_id("repository_id")?,
        correlation_id: row.optional_id("correlation_id")?,
        source: row.text("source")?,
        message: row.text("message")?,
        payload: row.json("payload")?,
        at: row.timestamp("at")?,
    })
}

impl Reading {
    /// Events of an account.
    pub async fn events(
        &mut self,
        account_id: &AccountId,
        filter: &EventFilter,
        order: EventOrder,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let mut values = values![account_id];
        let mut sql = format!("SELECT {COLUMNS} FROM events WHERE account_id = $1");
        let mut add = |clause: &str, value: Value| {
            values.push(value);
            sql.push_str(" AND ");
            sql.push_str(&clause.replace('?', &format!("${}", values.len())));
        };
        match &filter.kind {
            Some(kind) if kind.ends_with('.') => {
                add("kind LIKE ? ESCAPE '\\'", like_pattern(kind, "%").into());
            }
            Some(kind) => add("kind = ?", kind.into()),
            None => {}
        }
        if let Some(run) = &filter.correlation_id {
            add("correlation_id = ?", run.into());
        }
        if let Some(repository) = &filter.repository_id {
            add("repository_id = ?", repository.into());
        }
        if let Some(key) = &filter.resource {
            add("resource_kind = ?", key.kind.slug().into());
            add("resource_name = ?", (&key.name).into());
        }
        if let Some(severity) = filter.severity {
            add("severity = ?", severity.slug().into());
        }
        if let Some(text) = &filter.search {
            add("LOWER(message) LIKE ? ESCAPE '\\'", search_pattern(text).into());
        }
        match order {
            EventOrder::NewestBefore(seq) => {
                add("seq < ?", seq.into());
                sql.push_str(" ORDER BY seq DESC");
            }
            EventOrder::OldestAfter(seq) => {
                add("seq > ?", seq.into());
                sql.push_str(" ORDER BY seq");
            }
        }
        sql.push_str(&format!(" LIMIT {limit}"));
        let rows = self.connection.rows_built(sql, values).await?;
        rows.iter().map(read_event).collect()
    }

    /// The number of the last event of an account.
    pub async fn last_event(&mut self, account_id: &AccountId) -> Result<i64, StoreError> {
        let sql = "SELECT event_seq FROM chains WHERE account_id = $1";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.first().map_or(Ok(0), |row| row.number("event_seq"))
    }
}

impl Writing {
    /// Deletes events older than `before`; those with severity high or critical only if they are also older than
    /// `important_before`.
    pub async fn events_delete_old(
        &mut self,
        before: Timestamp,
        important_before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let condition = "at < $1 AND (at < $2 OR severity NOT IN ('high', 'critical'))";
        let old = OldRows::new("events", "account_id, seq", condition);
        self.delete_old(old, values![before, important_before], budget).await
    }
}
