//! Notifications: the providers, the last delivery of each, and the delivery log.

use askama::Template;
use windlass_api::permission::Permission;
use windlass_api::types::DeliveryInfo;
use windlass_core::delivery::DeliveryState;

use super::Allowed;
use super::settings::{Tab, tabs};
use crate::frame::{Frame, NavEntry};
use crate::{link, words};

/// A provider with its last delivery.
#[derive(Clone, Debug)]
pub struct ProviderRow {
    /// Its name.
    pub name: String,
    /// Its type.
    pub provider_type: String,
    /// Its address, if that is not secret.
    pub address: String,
    /// The last delivery.
    pub last: Option<DeliveryInfo>,
}

/// The providers and the delivery log.
#[derive(Clone, Debug, Template)]
#[template(path = "notifications.html")]
pub struct NotificationsPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The providers, sorted by name.
    pub providers: Vec<ProviderRow>,
    /// The number of alerts.
    pub alerts: usize,
    /// A page of the log, newest first.
    pub deliveries: Vec<DeliveryInfo>,
    /// The provider that is shown; empty for all.
    pub provider: String,
    /// The state that is shown; empty for all.
    pub state: String,
    /// Where the log goes on.
    pub next: Option<String>,
}

impl NotificationsPage {
    pub(crate) fn tabs(&self) -> Vec<Tab> {
        tabs(&self.frame, "/app/settings/notifications")
    }

    pub(crate) fn may_send(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsWrite))
    }

    /// The states to choose from: spelling and label.
    pub(crate) fn states(&self) -> [(&'static str, &'static str); 5] {
        [
            ("", "Any state"),
            ("pending", "Pending"),
            ("sent", "Sent"),
            ("failed", "Failed"),
            ("suppressed", "Suppressed (in digest)"),
        ]
    }

    pub(crate) fn is_filtered(&self) -> bool {
        !self.provider.is_empty() || !self.state.is_empty()
    }
}

/// Whether a delivery can be retried.
pub(crate) fn can_retry(delivery: &DeliveryInfo) -> bool {
    delivery.state != DeliveryState::Sent
}
