//! How a rollout stands, and what people may decide about it.

use crate::states::states;

states! {
    /// How a rollout stands.
    RolloutStatus {
        /// It moves over the nodes by itself.
        Running "running" "Running",
        /// Somebody paused it.
        Paused "paused" "Paused",
        /// Too many nodes failed. It goes on when somebody resumes it.
        Stopped "stopped" "Stopped",
        /// Somebody released it to every node at once.
        Promoted "promoted" "Promoted",
        /// Every node that it reaches has the change.
        Completed "completed" "Completed",
        /// Somebody ended it. Nodes that did not get the change keep what they have.
        Aborted "aborted" "Aborted",
        /// A later change gives its nodes other documents.
        Superseded "superseded" "Superseded",
    }
}

states! {
    /// What somebody decides about a rollout.
    RolloutAction {
        /// No further node gets the change until somebody resumes.
        Pause "pause" "Pause",
        /// A rollout that was paused or stopped goes on.
        Resume "resume" "Resume",
        /// It ends. Nodes that did not get the change keep what they have.
        Abort "abort" "Abort",
        /// Every node gets the change now.
        Promote "promote" "Promote",
    }
}

/// Whether a rollout says which of its nodes get their document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It does. After its end it keeps the document from nodes that were skipped, or not reached before it was aborted.
    Holds,
    /// It does not any more.
    Released,
}

impl RolloutStatus {
    /// Whether it can still give nodes their document by itself or after a person's decision.
    pub const fn is_open(self) -> bool {
        match self {
            RolloutStatus::Running
            | RolloutStatus::Paused
            | RolloutStatus::Stopped
            | RolloutStatus::Promoted => true,
            RolloutStatus::Completed | RolloutStatus::Aborted | RolloutStatus::Superseded => false,
        }
    }

    /// The status after somebody's decision; none if it is not possible. A rollout that ended can be promoted while it
    /// keeps the change from nodes: those that it skipped, or did not reach before it was aborted.
    pub const fn after(self, action: RolloutAction, hold: Hold) -> Option<RolloutStatus> {
        use RolloutAction::{Abort, Pause, Promote, Resume};
        use RolloutStatus::{Aborted, Completed, Paused, Promoted, Running, Stopped, Superseded};
        match (self, action) {
            (Running, Pause) => Some(Paused),
            (Paused | Stopped, Resume) => Some(Running),
            (Running | Paused | Stopped | Promoted, Abort) => Some(Aborted),
            (Running | Paused | Stopped, Promote) => Some(Promoted),
            (Completed | Aborted, Promote) => match hold {
                Hold::Holds => Some(Promoted),
                Hold::Released => None,
            },
            (Running | Promoted, Resume)
            | (Paused | Stopped | Promoted, Pause)
            | (Promoted, Promote)
            | (Completed | Aborted, Pause | Resume | Abort)
            | (Superseded, Pause | Resume | Abort | Promote) => None,
        }
    }

    /// What can be decided about it.
    pub fn actions(self, hold: Hold) -> Vec<RolloutAction> {
        let is_possible = |action: &RolloutAction| self.after(*action, hold).is_some();
        RolloutAction::ALL.iter().copied().filter(is_possible).collect()
    }
}

impl RolloutAction {
    /// What it did, for events: `paused`.
    pub const fn past(self) -> &'static str {
        match self {
            RolloutAction::Pause => "paused",
            RolloutAction::Resume => "resumed",
            RolloutAction::Abort => "aborted",
            RolloutAction::Promote => "promoted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_possible_only_where_it_changes_something() {
        use RolloutAction::{Abort, Pause, Promote, Resume};
        use RolloutStatus::{Aborted, Completed, Paused, Promoted, Running, Stopped, Superseded};
        type Decisions<'d> = &'d [(RolloutAction, RolloutStatus)];
        let table: [(RolloutStatus, Hold, Decisions<'_>); 9] = [
            (Running, Hold::Holds, &[(Pause, Paused), (Abort, Aborted), (Promote, Promoted)]),
            (Paused, Hold::Holds, &[(Resume, Running), (Abort, Aborted), (Promote, Promoted)]),
            (Stopped, Hold::Holds, &[(Resume, Running), (Abort, Aborted), (Promote, Promoted)]),
            (Promoted, Hold::Holds, &[(Abort, Aborted)]),
            (Completed, Hold::Holds, &[(Promote, Promoted)]),
            (Completed, Hold::Released, &[]),
            (Aborted, Hold::Holds, &[(Promote, Promoted)]),
            (Aborted, Hold::Released, &[]),
            (Superseded, Hold::Released, &[]),
        ];
        for (status, hold, expected) in table {
            let possible: Vec<_> = RolloutAction::ALL
                .iter()
                .filter_map(|action| Some((*action, status.after(*action, hold)?)))
                .collect();
            assert_eq!(possible, expected, "{status} {hold:?}");
            let actions: Vec<_> = expected.iter().map(|(action, _)| *action).collect();
            assert_eq!(status.actions(hold), actions);
        }
    }
}
