//! What the fates of its proposals make of a sync run.

use crate::proposal::Status;
use crate::states::states;

states! {
    /// Where a sync run is.
    RunStatus {
        /// Waiting to start, fetching, reading or comparing.
        InProgress "in_progress",
        /// Git and Windlass agree; nothing to do.
        Success "success",
        /// There are differences; their proposals wait.
        DiffReady "diff_ready",
        /// More differences than the cap, or not all of them were applied.
        Partial "partial",
        /// It could not be done; nothing was changed.
        Failed "failed",
        /// Every difference was applied.
        Applied "applied",
        /// Every difference was made by hand.
        AppliedManually "applied_manually",
    }
}

impl RunStatus {
    /// Whether every difference that it found was applied, or there was none.
    pub const fn is_all_applied(self) -> bool {
        matches!(self, RunStatus::Success | RunStatus::Applied | RunStatus::AppliedManually)
    }
}

/// What became of a run's proposals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fates {
    /// It has none.
    None,
    /// Something can still become of at least one.
    Open,
    /// All are closed.
    Closed {
        /// How many there are.
        all: usize,
        /// How many were applied.
        applied: usize,
        /// How many were made by hand.
        by_hand: usize,
        /// How many failed.
        failed: usize,
    },
}

impl Fates {
    /// Counts closed proposals.
    pub fn closed(counts: &[(Status, usize)]) -> Fates {
        let of = |wanted: Status| counts.iter().filter(|(status, _)| *status == wanted).map(|(_, n)| n).sum();
        match counts.iter().map(|(_, count)| count).sum() {
            0 => Fates::None,
            all => Fates::Closed {
                all,
                applied: of(Status::Applied),
                by_hand: of(Status::AppliedManually),
                failed: of(Status::Failed),
            },
        }
    }

    /// Whether nothing can become of any of them, and something became of one.
    pub const fn all_closed_and_some_applied(self) -> bool {
        matches!(self, Fates::Closed { applied, by_hand, .. } if applied + by_hand > 0)
    }
}

/// What a run that compared has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// What became of its proposals.
    pub fates: Fates,
    /// Differences left for later runs.
    pub remaining: usize,
    /// Differences that are not offered: refused by protection, or rejected until they change.
    pub not_offered: usize,
}

/// The state of a run that compared, now that its proposals are where they are.
pub fn run_status(facts: RunFacts) -> RunStatus {
    let RunFacts { fates, remaining, not_offered } = facts;
    match fates {
        _ if remaining > 0 => RunStatus::Partial,
        Fates::None if not_offered == 0 => RunStatus::Success,
        Fates::None | Fates::Open => RunStatus::DiffReady,
        Fates::Closed { all, by_hand, .. } if by_hand == all => RunStatus::AppliedManually,
        Fates::Closed { all, applied, by_hand, .. } if applied + by_hand == all => RunStatus::Applied,
        Fates::Closed { applied: 0, by_hand: 0, failed: 0, .. } => RunStatus::DiffReady,
        Fates::Closed { applied: 0, by_hand: 0, .. } => RunStatus::Failed,
        Fates::Closed { .. } => RunStatus::Partial,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(proposals: &[Status], remaining: usize) -> RunStatus {
        let fates = match proposals.iter().any(|status| status.is_open()) {
            true => Fates::Open,
            false => Fates::closed(&proposals.iter().map(|status| (*status, 1)).collect::<Vec<_>>()),
        };
        run_status(RunFacts { fates, remaining, not_offered: 0 })
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
