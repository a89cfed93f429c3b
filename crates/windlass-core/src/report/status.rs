//! The six statuses, the states behind them, and their texts.

use crate::observed::{AgentMessage, Generation};
use crate::states::states;
use crate::time::Timestamp;

states! {
    /// The status of a target, or of one resource on it. Declared from the least to the most severe, which is the order that
    /// `<` compares by: a group is as bad as its worst member.
    TargetStatus {
        /// What is observed is what is accepted.
        InSync "converged" "In sync",
        /// The accepted generation is on its way. Passes by itself, so it is the least severe of those that are not in sync.
        Applying "applying" "Applying",
        /// Nobody can tell. Less severe than offline: most unknown targets were never enrolled, so nothing was lost.
        Unknown "unknown" "Unknown",
        /// The agent is out of contact. Less severe than drifted: the target may well be in sync, and catches up on return.
        Offline "offline" "Offline",
        /// What is observed is not what is accepted: someone changed the machine or the cluster, and someone has to decide.
        Drifted "drifted" "Drifted",
        /// The accepted generation could not be applied. The most severe: what people approved is not there, and waiting does
        /// not help.
        Failed "failed" "Failed",
    }
}

states! {
    /// How observed and accepted state differ where something drifted.
    DriftKind {
        /// It is there, and not as accepted.
        Changed "changed",
        /// It shall be there, and is not.
        Missing "missing",
        /// It is there, and shall not be.
        Unexpected "unexpected",
    }
}

/// How a target, or a resource on one, compares with the accepted state, by the newest reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncState {
    /// It is as accepted.
    InSync {
        /// When the agent last looked.
        as_of: Timestamp,
    },
    /// The accepted generation is being applied.
    Applying {
        /// The last reported generation; `None` for a resource that was never reported.
        reached: Option<Generation>,
        /// The accepted generation.
        accepted: Generation,
    },
    /// It differs from the accepted state.
    Drifted {
        /// The kind of difference.
        kind: DriftKind,
        /// Since when, by the agent's clock.
        since: Timestamp,
    },
    /// Applying failed.
    Failed {
        /// The agent's message.
        message: AgentMessage,
        /// The time of the first failure, by the agent's clock.
        since: Timestamp,
    },
    /// The state is not known.
    Unknown(UnknownReason),
}

/// Why a state is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownReason {
    /// There is no report about it.
    NeverReported,
    /// Nothing is assigned to the target, so there is nothing to compare with.
    NotAssigned,
    /// The agent could not read the state.
    Unreadable {
        /// Since when, by the agent's clock.
        since: Timestamp,
        /// The agent's message.
        message: AgentMessage,
    },
    /// The agent reports a generation above the accepted one.
    AheadOfAccepted {
        /// The reported generation.
        reported: Generation,
        /// The accepted generation.
        accepted: Generation,
    },
}

impl SyncState {
    /// The status of a target that is in contact.
    pub const fn status(&self) -> TargetStatus {
        match self {
            SyncState::InSync { .. } => TargetStatus::InSync,
            SyncState::Applying { .. } => TargetStatus::Applying,
            SyncState::Drifted { .. } => TargetStatus::Drifted,
            SyncState::Failed { .. } => TargetStatus::Failed,
            SyncState::Unknown(_) => TargetStatus::Unknown,
        }
    }
}

/// Whether a target's agent is in contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactState {
    /// It never connected.
    Never,
    /// It is in contact.
    Current,
    /// It was in contact, and is not any more.
    Lost {
        /// The time of the last contact.
        since: Timestamp,
    },
}

/// The status of a target or a resource, with its explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusReport {
    /// Whether the target's agent is in contact.
    pub contact: ContactState,
    /// The state by the newest reports. It is kept while the agent is out of contact.
    pub last_known: SyncState,
}

impl StatusReport {
    /// The status in a word.
    pub const fn status(&self) -> TargetStatus {
        match self.contact {
            ContactState::Never => TargetStatus::Unknown,
            ContactState::Current => self.last_known.status(),
            ContactState::Lost { .. } => TargetStatus::Offline,
        }
    }

    /// The status for display: `Drifted`, or `Offline, last known drifted`.
    pub fn summary(&self) -> String {
        let (status, last_known) = (self.status(), self.last_known.status());
        match last_known {
            TargetStatus::Unknown => status.label().to_owned(),
            _ if last_known == status => status.label().to_owned(),
            _ => format!("{}, last known {}", status.label(), last_known.label().to_lowercase()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_one_spelling_and_one_label() {
        let spellings: Vec<_> =
            TargetStatus::ALL.iter().map(|status| (status.slug(), status.label())).collect();
        assert_eq!(
            spellings,
            [
                ("converged", "In sync"),
                ("applying", "Applying"),
                ("unknown", "Unknown"),
                ("offline", "Offline"),
                ("drifted", "Drifted"),
                ("failed", "Failed"),
            ]
        );
        for status in TargetStatus::ALL {
            assert_eq!(TargetStatus::from_slug(status.slug()), Some(*status));
        }
    }

    #[test]
    fn a_lost_target_keeps_its_last_known_status_beside_offline() {
        let moment = Timestamp::from_millis(0);
        let lost = ContactState::Lost { since: moment };
        let drifted = SyncState::Drifted { kind: DriftKind::Changed, since: moment };
        let never = SyncState::Unknown(UnknownReason::NeverReported);
        for (contact, last_known, status, summary) in [
            (ContactState::Current, &drifted, TargetStatus::Drifted, "Drifted"),
            (lost, &drifted, TargetStatus::Offline, "Offline, last known drifted"),
            (
                lost,
                &SyncState::InSync { as_of: moment },
                TargetStatus::Offline,
                "Offline, last known in sync",
            ),
            (lost, &never, TargetStatus::Offline, "Offline"),
            (ContactState::Current, &never, TargetStatus::Unknown, "Unknown"),
            (ContactState::Never, &never, TargetStatus::Unknown, "Unknown"),
            (ContactState::Never, &drifted, TargetStatus::Unknown, "Unknown, last known drifted"),
        ] {
            let report = StatusReport { contact, last_known: last_known.clone() };
            assert_eq!((report.status(), report.summary().as_str()), (status, summary));
        }
    }
}
