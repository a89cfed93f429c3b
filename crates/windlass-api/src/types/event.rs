//! Events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventInfo {
    /// Its number in the account, without gaps.
    pub seq: i64,
    /// What kind, for example `gitops.proposal_opened`.
    pub kind: String,
    /// `low`, `medium`, `high` or `critical`.
    pub severity: String,
    /// The kind of resource it is about.
    pub resource_kind: Option<String>,
    /// The resource it is about.
    pub resource_name: Option<String>,
    /// The repository it is about.
    pub repository_id: Option<String>,
    /// The sync run it belongs to.
    pub correlation_id: Option<String>,
    /// Who or what made it happen.
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
    /// Where the list goes on.
    pub meta: super::PageMeta,
}
