//! How far the nodes of a rollout are, one by one and counted.

use serde::{Deserialize, Serialize};

use crate::states::states;

states! {
    /// How far a node of a rollout is.
    RolloutNodeState {
        /// It did not get the change yet.
        Waiting "waiting" "Waiting",
        /// It got the change and did not report success or failure yet.
        Applying "applying" "Applying",
        /// It got the change, and its agent is out of contact. It applies the change when it is back.
        Offline "offline" "Offline",
        /// It failed to apply the change.
        Failed "failed" "Failed",
        /// It is in sync with the change.
        InSync "converged" "In sync",
        /// It was destroyed, or a later change gives it another document.
        Left "left" "Left",
    }
}

/// How many nodes are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RolloutCounts {
    /// Nodes that wait.
    pub waiting: usize,
    /// Nodes that apply the change.
    pub applying: usize,
    /// Nodes that got the change and are offline.
    pub offline: usize,
    /// Nodes that failed.
    pub failed: usize,
    /// Nodes in sync.
    pub converged: usize,
    /// Nodes that left the rollout.
    pub left: usize,
}

impl RolloutCounts {
    /// How many nodes are in a state.
    pub const fn of(&self, state: RolloutNodeState) -> usize {
        match state {
            RolloutNodeState::Waiting => self.waiting,
            RolloutNodeState::Applying => self.applying,
            RolloutNodeState::Offline => self.offline,
            RolloutNodeState::Failed => self.failed,
            RolloutNodeState::InSync => self.converged,
            RolloutNodeState::Left => self.left,
        }
    }

    /// All nodes.
    pub fn total(&self) -> usize {
        RolloutNodeState::ALL.iter().map(|state| self.of(*state)).sum()
    }

    /// One line: `12 of 20 in sync, 1 failed, 7 waiting`.
    pub fn headline(&self) -> String {
        use RolloutNodeState::{Applying, Failed, Left, Offline, Waiting};
        let mut line = format!("{} of {} in sync", self.converged, self.total());
        for state in [Failed, Applying, Offline, Waiting, Left] {
            if self.of(state) > 0 {
                line.push_str(&format!(", {} {}", self.of(state), state.label().to_lowercase()));
            }
        }
        line
    }
}

impl FromIterator<RolloutNodeState> for RolloutCounts {
    fn from_iter<I: IntoIterator<Item = RolloutNodeState>>(states: I) -> RolloutCounts {
        let mut counts = RolloutCounts::default();
        for state in states {
            *match state {
                RolloutNodeState::Waiting => &mut counts.waiting,
                RolloutNodeState::Applying => &mut counts.applying,
                RolloutNodeState::Offline => &mut counts.offline,
                RolloutNodeState::Failed => &mut counts.failed,
                RolloutNodeState::InSync => &mut counts.converged,
                RolloutNodeState::Left => &mut counts.left,
            } += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_counted_and_failures_are_named_first() {
        let counts: RolloutCounts =
            RolloutNodeState::ALL.iter().chain([&RolloutNodeState::Waiting]).copied().collect();
        assert_eq!(counts.total(), 7);
        let headline = "1 of 7 in sync, 1 failed, 1 applying, 1 offline, 2 waiting, 1 left";
        assert_eq!(counts.headline(), headline);
        assert_eq!(RolloutCounts::default().headline(), "0 of 0 in sync");
    }
}
