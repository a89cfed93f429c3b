//! Where a notification is on its way to a provider.

use crate::states::states;

states! {
    /// What became of a delivery so far.
    DeliveryState {
        /// It is to be sent, at once or again.
        Pending "pending" "Pending",
        /// The provider has it.
        Sent "sent" "Sent",
        /// It was given up.
        Failed "failed" "Failed",
        /// It was not sent by itself, because there were too many; a digest tells of it.
        Suppressed "suppressed" "Suppressed",
    }
}
