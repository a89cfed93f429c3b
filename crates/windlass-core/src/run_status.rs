//! The status of a sync run. Repositories have it for their last run.

use crate::states::states;

states! {
    /// Where a sync run is.
    RunStatus {
        /// Waiting to start, fetching, reading or comparing.
        InProgress "in_progress" "Syncing",
        /// Git and the accepted state are in sync.
        Success "success" "Success",
        /// There are differences; their proposals are open.
        DiffReady "diff_ready" "Awaiting approval",
        /// More differences than the cap, or not all of them were applied.
        Partial "partial" "Partially proposed",
        /// The run failed; nothing was changed.
        Failed "failed" "Failed",
        /// Every difference was applied.
        Applied "applied" "Applied",
        /// Someone made every change directly.
        AppliedManually "applied_manually" "Applied manually",
    }
}

impl RunStatus {
    /// Whether every difference was applied, or there was none.
    pub const fn is_all_applied(self) -> bool {
        matches!(self, RunStatus::Success | RunStatus::Applied | RunStatus::AppliedManually)
    }
}
