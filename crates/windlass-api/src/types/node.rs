//! Nodes as their agents see them: status, modules, drift.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::report::TargetStatus;

use super::{Acceptance, PageMeta};
use crate::word::Word;

/// A node and its status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeStatusInfo {
    /// The node's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its status.
    #[schemars(with = "Word<TargetStatus>")]
    pub state: TargetStatus,
    /// The status for people, with the last known one while the node is offline.
    pub summary: String,
    /// Why it has this status, in one sentence.
    pub reason: String,
    /// When its newest report arrived; null before the first.
    pub as_of: Option<String>,
    /// The template that it is built from.
    pub template: String,
    /// Where it runs.
    pub region: Option<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The generation that is assigned to it; null before the first.
    pub assigned_generation: Option<u64>,
    /// The generation that its agent last reported.
    pub reached_generation: Option<u64>,
    /// How many items differ that nobody accepted.
    pub drifted_items: u64,
    /// How many items differ that someone accepted.
    pub accepted_items: u64,
    /// Its agent; null if none is enrolled.
    pub agent: Option<NodeAgentInfo>,
}

/// The agent of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeAgentInfo {
    /// Its id.
    pub id: String,
    /// When it was enrolled.
    pub enrolled_at: String,
    /// When it was last in contact; null before the first time.
    pub last_contact_at: Option<String>,
}

/// Nodes and their statuses, by name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeStatusList {
    /// The nodes.
    pub nodes: Vec<NodeStatusInfo>,
    /// The next page.
    pub meta: PageMeta,
}

/// A node with everything that its agent reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeDetail {
    /// The node and its status.
    #[serde(flatten)]
    pub node: NodeStatusInfo,
    /// Its modules, and those that its agent still reports.
    pub modules: Vec<NodeModuleInfo>,
    /// About its host, as its agent says; null before the first report.
    pub host: Option<NodeHostInfo>,
    /// How many events its agent dropped, or the server, because there were too many.
    pub events_dropped: u64,
}

/// A module on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeModuleInfo {
    /// Its name.
    pub name: String,
    /// The version that is assigned; null if it has none or is not assigned any more.
    pub version: Option<String>,
    /// Its status.
    #[schemars(with = "Word<TargetStatus>")]
    pub state: TargetStatus,
    /// The status for people.
    pub summary: String,
    /// Why, if it is not in sync.
    pub reason: Option<String>,
    /// How many of its items differ.
    pub drifted_items: u64,
}

/// A node's host, as its agent describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeHostInfo {
    /// The version of the agent.
    pub agent_version: String,
    /// What the host calls itself.
    pub hostname: Option<String>,
    /// The operating system.
    pub os: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The processor architecture.
    pub architecture: Option<String>,
    /// When the host started.
    pub booted_at: Option<String>,
}

/// How many nodes have each status, by group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeStatusSummary {
    /// What the groups are: `template`, `region` or `label:KEY`.
    pub by: String,
    /// All nodes together.
    pub all: NodeStatusGroup,
    /// The groups, by name.
    pub groups: Vec<NodeStatusGroup>,
}

/// How many nodes of a group have each status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeStatusGroup {
    /// The name of the group; empty for nodes without a region or without the label.
    pub name: String,
    /// The number of nodes.
    pub nodes: u64,
    /// The number of nodes by status. Statuses without nodes are left out.
    pub states: BTreeMap<String, u64>,
    /// The most severe status; null if there are no nodes.
    #[schemars(with = "Option<Word<TargetStatus>>")]
    pub worst: Option<TargetStatus>,
    /// The same for people: `8 of 10 in sync, 2 drifted`.
    pub headline: String,
}

/// How a node's host differs from what is assigned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeDrift {
    /// The node's name.
    pub node: String,
    /// Its status.
    #[schemars(with = "Word<TargetStatus>")]
    pub state: TargetStatus,
    /// Why, in one sentence.
    pub reason: String,
    /// When the newest report arrived.
    pub as_of: Option<String>,
    /// The items that differ.
    pub items: Vec<NodeDriftItem>,
    /// How many more items differ than are listed.
    pub left_out: u64,
}

/// An item that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeDriftItem {
    /// Its type: `package`, `path`, `service` and so on.
    pub kind: String,
    /// Its name or path.
    pub name: String,
    /// The module that it comes from.
    pub module: String,
    /// What the agent does about it: `report` or `correct`.
    pub mode: String,
    /// Since when it differs, by the agent's clock.
    pub since: String,
    /// The fields that differ.
    pub fields: Vec<NodeFieldDifference>,
    /// Why the fields are not known.
    pub problem: Option<String>,
    /// Its acceptance.
    pub acceptance: Option<Acceptance>,
}

/// A field that differs, secrets masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeFieldDifference {
    /// The field; `content` for the content of a file.
    pub field: String,
    /// The value on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<String>,
    /// The assigned value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<String>,
    /// The lines of a file that differ: `-` is on the host, `+` is assigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Why the lines are not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// An item of a node.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeItemBody {
    /// The type of the item.
    pub kind: String,
    /// Its name or path.
    pub name: String,
}

/// A drifted item to accept.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeAcceptBody {
    /// The type of the item.
    pub kind: String,
    /// Its name or path.
    pub name: String,
    /// When the acceptance ends (RFC 3339). Default: when the item changes again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The reason.
    pub reason: String,
}

/// The result of a revert: the agent applies everything that is assigned again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeReverted {
    /// The generation that the agent applies.
    pub generation: u64,
    /// A message for people.
    pub message: String,
}

/// The change to git that declares what is on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeAdopted {
    /// The repository.
    pub repository: String,
    /// The file that it changes.
    pub path: String,
    /// The patch, for `git apply`.
    pub patch: String,
}

/// The result of asking an agent to look now.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ObserveRequested {
    /// When it was requested. The node's `as_of` is later once the report arrived.
    pub requested_at: String,
    /// A message for people.
    pub message: String,
}
