//! What the fates of its proposals make of a sync run.

use super::Status;
use super::states::states;

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

/// What a run that compared has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunFacts<'f> {
    /// The states of its proposals.
    pub proposals: &'f [Status],
    /// Differences left for later runs.
    pub remaining: usize,
    /// Differences that are not offered: refused by protection, or rejected until they change.
    pub not_offered: usize,
}

/// The state of a run that compared, now that its proposals are where they are.
pub fn run_status(facts: RunFacts<'_>) -> RunStatus {
    let RunFacts { proposals, remaining, not_offered } = facts;
    let count = |wanted: &[Status]| proposals.iter().filter(|status| wanted.contains(status)).count();
    let by_hand = count(&[Status::AppliedManually]);
    let done = count(&[Status::Applied]) + by_hand;
    let failed = count(&[Status::Failed]);
    if proposals.is_empty() {
        return match (remaining, not_offered) {
            (0, 0) => RunStatus::Success,
            (0, _) => RunStatus::DiffReady,
            _ => RunStatus::Partial,
        };
    }
    if remaining > 0 {
        return RunStatus::Partial;
    }
    if proposals.iter().any(|status| status.is_open()) {
        return RunStatus::DiffReady;
    }
    match (done, failed) {
        (done, _) if done == proposals.len() && by_hand == done => RunStatus::AppliedManually,
        (done, _) if done == proposals.len() => RunStatus::Applied,
        (0, 0) => RunStatus::DiffReady,
        (0, _) => RunStatus::Failed,
        _ => RunStatus::Partial,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(proposals: &[Status], remaining: usize) -> RunStatus {
        run_status(RunFacts { proposals, remaining, not_offered: 0 })
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
