//! The states of a notification delivery.

use crate::states::states;

states! {
    /// The state of a delivery.
    DeliveryState {
        /// Windlass will send it, or retry.
        Pending "pending" "Pending",
        /// The provider accepted it.
        Sent "sent" "Sent",
        /// Windlass stopped retrying.
        Failed "failed" "Failed",
        /// Not sent individually, because there were too many; a digest counts it.
        Suppressed "suppressed" "Suppressed",
    }
}
