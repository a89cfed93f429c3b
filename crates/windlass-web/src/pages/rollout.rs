//! A rollout as it moves over the fleet: a cell for each node, by wave.
//!
//! The page has to be readable with thousands of nodes, so a cell is one empty element with a title. Screen readers get the
//! counts of a wave instead of its cells, and every node that needs attention is listed by name.

use askama::Template;
use windlass_api::permission::Permission;
use windlass_api::types::{RolloutInfo, RolloutNodeInfo, RolloutWave};
use windlass_core::rollout::{RolloutAction, RolloutCounts, RolloutNodeState};

use super::{Allowed, rollout_progress};
use crate::frame::{Frame, NavEntry};
use crate::{link, words};

/// The most nodes of a list; the counts say how many there are.
const LISTED: usize = 100;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "rollout.html")]
pub struct RolloutPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The rollout.
    pub rollout: RolloutInfo,
    /// Its waves in order, each with its nodes by name.
    pub waves: Vec<(RolloutWave, Vec<RolloutNodeInfo>)>,
}

/// A decision that can be made now.
pub(crate) struct Decision {
    pub(crate) action: RolloutAction,
    pub(crate) meaning: &'static str,
    pub(crate) allowed: Allowed,
    /// The question before a decision that cannot be taken back.
    pub(crate) question: Option<String>,
}

impl RolloutPage {
    /// The class of the cells: the more nodes, the smaller they are.
    pub(crate) fn cell_size(&self) -> &'static str {
        match self.rollout.counts.total {
            0..=80 => "large",
            81..=800 => "medium",
            _ => "small",
        }
    }

    /// The states that nodes have, with their numbers: the legend.
    pub(crate) fn legend(&self) -> Vec<(RolloutNodeState, usize)> {
        let counts = RolloutCounts::from(self.rollout.counts);
        let states = RolloutNodeState::ALL.iter().map(|state| (*state, counts.of(*state)));
        states.filter(|(_, count)| *count > 0).collect()
    }

    /// The first nodes in a state, and how many more there are.
    pub(crate) fn nodes_in(&self, state: RolloutNodeState) -> (Vec<&RolloutNodeInfo>, usize) {
        let nodes = self.waves.iter().flat_map(|(_, nodes)| nodes);
        let mut found: Vec<&RolloutNodeInfo> = nodes.filter(|node| node.state == state).collect();
        let more = found.len().saturating_sub(LISTED);
        found.truncate(LISTED);
        (found, more)
    }

    pub(crate) fn failed(&self) -> (Vec<&RolloutNodeInfo>, usize) {
        self.nodes_in(RolloutNodeState::Failed)
    }

    /// The states other than failed whose nodes can be listed.
    pub(crate) fn other_states(&self) -> Vec<RolloutNodeState> {
        let states = self.legend().into_iter().map(|(state, _)| state);
        states.filter(|state| *state != RolloutNodeState::Failed).collect()
    }

    fn question(&self, action: RolloutAction) -> Option<String> {
        let waiting = words::count(self.rollout.counts.waiting, "waiting node");
        match action {
            RolloutAction::Pause | RolloutAction::Resume => None,
            RolloutAction::Abort => Some(format!("Abort the rollout? {waiting} will not get the change.")),
            RolloutAction::Promote => Some(format!(
                "Promote the rollout? {waiting} will get the change now. This cannot be undone."
            )),
        }
    }

    pub(crate) fn decisions(&self) -> Vec<Decision> {
        let decision = |action: &RolloutAction| {
            let (meaning, permission) = match action {
                RolloutAction::Pause => {
                    ("No further node gets the change until somebody resumes.", Permission::GitopsSync)
                }
                RolloutAction::Resume => (
                    "The rollout goes on. Nodes that have failed so far do not stop it again.",
                    Permission::GitopsApprove,
                ),
                RolloutAction::Abort => (
                    "The rollout ends. Nodes that it did not reach keep what they have, until another change reaches \
                     them or somebody promotes the rollout.",
                    Permission::GitopsSync,
                ),
                RolloutAction::Promote => {
                    ("Every node gets the change now, whatever the limits are.", Permission::GitopsApprove)
                }
            };
            let allowed = Allowed::unless(self.frame.why_not(permission));
            Decision { action: *action, meaning, allowed, question: self.question(*action) }
        };
        self.rollout.actions.iter().map(decision).collect()
    }
}
