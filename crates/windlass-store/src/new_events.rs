//! Events that are about to happen, and writing them behind those that did.

use serde::Serialize;
use serde_json::Value as Json;
use windlass_core::resource::ResourceKey;
use windlass_core::time::Timestamp;

use crate::connection::AnyConnection;
use crate::error::StoreError;
use crate::sql::{Value, values};

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Everyday.
    Low,
    /// Worth knowing.
    Medium,
    /// Someone should look.
    High,
    /// Someone must look now.
    Critical,
}

impl Severity {
    /// The spelling in the database.
    pub const fn slug(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }

    /// The severity of this spelling.
    pub fn from_slug(slug: &str) -> Option<Severity> {
        [Severity::Low, Severity::Medium, Severity::High, Severity::Critical]
            .into_iter()
            .find(|severity| severity.slug() == slug)
    }
}

/// An event that is about to happen.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// What kind, for example `gitops.proposal_opened`.
    pub kind: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// Which resource it is about.
    pub resource: Option<ResourceKey>,
    /// Which repository it is about.
    pub repository_id: Option<String>,
    /// The sync run it belongs to.
    pub correlation_id: Option<String>,
    /// Who or what made it happen.
    pub source: String,
    /// One line for people.
    pub message: String,
    /// Details for machines.
    pub payload: Json,
    /// When.
    pub at: Timestamp,
}

/// Writes events behind the last one and returns the number of the new last one.
pub(crate) async fn append_events(
    connection: &mut AnyConnection,
    account_id: &str,
    last: i64,
    events: Vec<NewEvent>,
) -> Result<i64, StoreError> {
    let mut seq = last;
    let rows: Vec<Vec<Value>> = events
        .into_iter()
        .map(|event| {
            seq += 1;
            let (kind, name) = event.resource.map(|key| (key.kind.slug(), key.name)).unzip();
            values![
                account_id,
                seq,
                event.kind,
                event.severity.slug(),
                kind,
                name,
                event.repository_id,
                event.correlation_id,
                event.source,
                event.message,
                event.payload.to_string(),
                event.at
            ]
        })
        .collect();
    let prefix = "INSERT INTO events (account_id, seq, kind, severity, resource_kind, resource_name, repository_id, \
                  correlation_id, source, message, payload, at) VALUES";
    connection.execute_many(prefix, rows, "").await?;
    Ok(seq)
}
