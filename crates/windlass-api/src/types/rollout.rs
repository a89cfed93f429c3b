//! Rollouts: how a change moves over nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::rollout::{RolloutAction, RolloutCounts, RolloutNodeState, RolloutStatus};

use crate::word::Word;

/// How many nodes are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutNodeCounts {
    /// Nodes that did not get the change yet.
    pub waiting: usize,
    /// Nodes that apply it.
    pub applying: usize,
    /// Nodes that got it and are offline.
    pub offline: usize,
    /// Nodes that failed.
    pub failed: usize,
    /// Nodes in sync.
    pub converged: usize,
    /// Nodes that left the rollout.
    pub left: usize,
    /// All nodes.
    pub total: usize,
}

impl From<RolloutCounts> for RolloutNodeCounts {
    fn from(counts: RolloutCounts) -> RolloutNodeCounts {
        let RolloutCounts { waiting, applying, offline, failed, converged, left } = counts;
        RolloutNodeCounts { waiting, applying, offline, failed, converged, left, total: counts.total() }
    }
}

impl From<RolloutNodeCounts> for RolloutCounts {
    fn from(counts: RolloutNodeCounts) -> RolloutCounts {
        let RolloutNodeCounts { waiting, applying, offline, failed, converged, left, total: _ } = counts;
        RolloutCounts { waiting, applying, offline, failed, converged, left }
    }
}

/// A rollout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutInfo {
    /// Its id.
    pub id: String,
    /// Whether a template or a module says how it moves.
    pub governed_kind: String,
    /// The name of the template or module.
    pub governed_name: String,
    /// How it stands.
    #[schemars(with = "Word<RolloutStatus>")]
    pub status: RolloutStatus,
    /// Why it waits, stopped or ended.
    pub reason: Option<String>,
    /// Its nodes by state.
    pub counts: RolloutNodeCounts,
    /// How many nodes may be unavailable at a time: a number or a percentage.
    pub max_unavailable: String,
    /// How many nodes may fail before it stops: a number or a percentage.
    pub failure_threshold: String,
    /// How long a wave must be in sync before the next one starts.
    pub pause: Option<String>,
    /// What happens to nodes that are offline when it is their turn: `catch_up`, `wait` or `skip`.
    pub offline: String,
    /// The proposals whose changes it moves, by id; the first few.
    pub proposals: Vec<String>,
    /// What can be decided about it now.
    #[schemars(with = "Vec<Word<RolloutAction>>")]
    pub actions: Vec<RolloutAction>,
    /// When it began.
    pub started_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
}

/// A wave of a rollout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutWave {
    /// Its name; `rest` for the nodes that no wave names.
    pub name: String,
    /// Its nodes by state.
    pub counts: RolloutNodeCounts,
}

/// A node of a rollout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutNodeInfo {
    /// The node.
    pub node: String,
    /// Its wave.
    pub wave: String,
    /// How far it is.
    #[schemars(with = "Word<RolloutNodeState>")]
    pub state: RolloutNodeState,
    /// Why it failed.
    pub message: Option<String>,
    /// Whether its failure does not count, because somebody resumed the rollout.
    pub tolerated: bool,
    /// When it got the change.
    pub released_at: Option<String>,
    /// When the server first saw it in sync or failed.
    pub settled_at: Option<String>,
}

/// A rollout with its waves.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RolloutEnvelope {
    /// The rollout.
    pub rollout: RolloutInfo,
    /// Its waves, in order.
    pub waves: Vec<RolloutWave>,
    /// Its nodes in the requested states, by wave and name; the failed ones unless the request names others.
    pub nodes: Vec<RolloutNodeInfo>,
    /// How many more nodes are in these states.
    pub nodes_left_out: usize,
}

/// Rollouts, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RolloutList {
    /// The rollouts.
    pub rollouts: Vec<RolloutInfo>,
    /// The next page.
    pub meta: super::PageMeta,
}

/// A decision about a rollout.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RolloutDecisionBody {
    /// The reason, recorded in the audit log.
    #[serde(default)]
    pub reason: String,
    /// The status that the caller saw. If the rollout has another one now, the request is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Word<RolloutStatus>>")]
    pub status: Option<RolloutStatus>,
}
