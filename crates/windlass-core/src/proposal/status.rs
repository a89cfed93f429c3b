//! The states of a proposal.

use crate::states::states;

states! {
    /// The status of a proposal.
    Status as ProposalStatus {
        /// Open; needs approval.
        PendingApproval "pending_approval" "Awaiting approval",
        /// Approved; Windlass applies it as soon as nothing blocks it.
        Approved "approved" "Approved",
        /// Applied.
        Applied "applied" "Applied",
        /// Applying it failed; Windlass changed nothing.
        Failed "failed" "Failed",
        /// Someone rejected it.
        Rejected "rejected" "Rejected",
        /// Git or the accepted state changed; another proposal replaces it.
        Superseded "superseded" "Superseded",
        /// The difference no longer exists.
        Withdrawn "withdrawn" "Withdrawn",
        /// It was not reviewed or not applied in time.
        Expired "expired" "Expired",
        /// It was approved, and then someone made the same change directly.
        AppliedManually "applied_manually" "Applied manually",
    }
}

impl Status {
    /// Whether anything can still become of it.
    pub const fn is_open(self) -> bool {
        matches!(self, Status::PendingApproval | Status::Approved)
    }

    /// Whether this state may follow the other. Closed states are final.
    pub const fn may_follow(self, before: Status) -> bool {
        use Status::{
            Applied, AppliedManually, Approved, Expired, Failed, PendingApproval, Rejected, Superseded,
            Withdrawn,
        };
        match before {
            PendingApproval => matches!(self, Approved | Rejected | Superseded | Withdrawn | Expired),
            Approved => matches!(
                self,
                PendingApproval
                    | Applied
                    | Failed
                    | Rejected
                    | Superseded
                    | Withdrawn
                    | Expired
                    | AppliedManually
            ),
            Applied | Failed | Rejected | Superseded | Withdrawn | Expired | AppliedManually => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_states_are_final_and_open_ones_can_end() {
        for before in Status::ALL {
            let can_change = Status::ALL.iter().any(|after| after.may_follow(*before));
            assert_eq!(can_change, before.is_open(), "{before}");
            assert!(!before.may_follow(*before), "{before}");
            assert_eq!(Status::from_slug(before.slug()), Some(*before));
        }
    }

    #[test]
    fn nothing_is_applied_without_having_been_approved() {
        assert!(!Status::Applied.may_follow(Status::PendingApproval));
        assert!(!Status::Failed.may_follow(Status::PendingApproval));
        assert!(Status::Applied.may_follow(Status::Approved));
    }
}
