//! The status of a sync run, from the outcomes of its proposals.

use crate::proposal::Status;
use crate::run_status::RunStatus;

/// The outcomes of a run's proposals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposalOutcomes {
    /// There are no proposals.
    None,
    /// At least one is open.
    Open,
    /// All are closed.
    Closed {
        /// The number of proposals.
        all: usize,
        /// How many were applied.
        applied: usize,
        /// How many were applied manually.
        applied_manually: usize,
        /// How many failed.
        failed: usize,
    },
}

impl ProposalOutcomes {
    /// Counts closed proposals.
    pub fn closed(counts: &[(Status, usize)]) -> ProposalOutcomes {
        let of = |wanted: Status| counts.iter().filter(|(status, _)| *status == wanted).map(|(_, n)| n).sum();
        match counts.iter().map(|(_, count)| count).sum() {
            0 => ProposalOutcomes::None,
            all => ProposalOutcomes::Closed {
                all,
                applied: of(Status::Applied),
                applied_manually: of(Status::AppliedManually),
                failed: of(Status::Failed),
            },
        }
    }

    /// Whether all are closed and at least one was applied.
    pub const fn all_closed_and_some_applied(self) -> bool {
        matches!(self, ProposalOutcomes::Closed { applied, applied_manually, .. } if applied + applied_manually > 0)
    }
}

/// The facts about a run that completed the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// The outcomes of its proposals.
    pub outcomes: ProposalOutcomes,
    /// Differences left for later runs.
    pub remaining: usize,
    /// Differences that are not proposed: refused by protection, or rejected until they change.
    pub not_proposed: usize,
}

/// The status of a run that completed the comparison.
pub fn run_status(facts: RunFacts) -> RunStatus {
    let RunFacts { outcomes, remaining, not_proposed } = facts;
    match outcomes {
        _ if remaining > 0 => RunStatus::Partial,
        ProposalOutcomes::None if not_proposed == 0 => RunStatus::Success,
        ProposalOutcomes::None | ProposalOutcomes::Open => RunStatus::DiffReady,
        ProposalOutcomes::Closed { all, applied_manually, .. } if applied_manually == all => {
            RunStatus::AppliedManually
        }
        ProposalOutcomes::Closed { all, applied, applied_manually, .. }
            if applied + applied_manually == all =>
        {
            RunStatus::Applied
        }
        ProposalOutcomes::Closed { applied: 0, applied_manually: 0, failed: 0, .. } => RunStatus::DiffReady,
        ProposalOutcomes::Closed { applied: 0, applied_manually: 0, .. } => RunStatus::Failed,
        ProposalOutcomes::Closed { .. } => RunStatus::Partial,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(proposals: &[Status], remaining: usize) -> RunStatus {
        let outcomes = match proposals.iter().any(|status| status.is_open()) {
            true => ProposalOutcomes::Open,
            false => {
                ProposalOutcomes::closed(&proposals.iter().map(|status| (*status, 1)).collect::<Vec<_>>())
            }
        };
        run_status(RunFacts { outcomes, remaining, not_proposed: 0 })
    }

    #[test]
    fn a_run_is_what_became_of_its_proposals() {
        use Status::{Applied, AppliedManually, Failed, PendingApproval, Rejected};
        assert_eq!(of(&[], 0), RunStatus::Success);
        assert_eq!(of(&[PendingApproval], 0), RunStatus::DiffReady);
        assert_eq!(of(&[Applied, PendingApproval], 0), RunStatus::DiffReady);
        assert_eq!(of(&[PendingApproval], 75), RunStatus::Partial);
        assert_eq!(of(&[Applied, Applied], 75), RunStatus::Partial);
        assert_eq!(of(&[Applied, Applied], 0), RunStatus::Applied);
        assert_eq!(of(&[Applied, AppliedManually], 0), RunStatus::Applied);
        assert_eq!(of(&[AppliedManually], 0), RunStatus::AppliedManually);
        assert_eq!(of(&[Applied, Failed], 0), RunStatus::Partial);
        assert_eq!(of(&[Failed], 0), RunStatus::Failed);
        assert_eq!(of(&[Applied, Rejected], 0), RunStatus::Partial);
        assert_eq!(of(&[Rejected], 0), RunStatus::DiffReady);
    }
}
