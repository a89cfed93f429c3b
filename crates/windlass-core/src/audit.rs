//! The outcomes in the audit log.

use crate::states::states;

states! {
    /// The outcome of an action.
    Outcome as AuditOutcome {
        /// It was done.
        Done "done" "Done",
        /// It was refused.
        Refused "refused" "Refused",
        /// It was tried and failed.
        Failed "failed" "Failed",
    }
}
