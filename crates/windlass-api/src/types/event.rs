//! Events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::event::{EventKind, Severity};

use crate::word::{OpenWord, Word};

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventInfo {
    /// Its number in the account, without gaps.
    pub seq: i64,
    /// Its kind, for example `gitops.proposal_opened`. Later versions may add kinds.
    #[schemars(with = "OpenWord<EventKind>")]
    pub kind: String,
    /// Its severity.
    #[schemars(with = "Word<Severity>")]
    pub severity: Severity,
    /// The kind of resource it is about.
    pub resource_kind: Option<String>,
    /// The resource it is about.
    pub resource_name: Option<String>,
    /// The repository it is about.
    pub repository_id: Option<String>,
    /// The sync run it belongs to.
    pub correlation_id: Option<String>,
    /// Who or what caused it.
    pub source: String,
    /// One line for people.
    pub message: String,
    /// Details for machines.
    pub payload: Value,
    /// When.
    pub at: String,
}

/// Events, newest first, or oldest first after a number.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventList {
    /// The events.
    pub fleet_events: Vec<EventInfo>,
    /// The next page.
    pub meta: super::PageMeta,
}
