//! Notifications: where they go, how the last one fared, and the log.

use askama::Template;
use windlass_api::permission::Permission;
use windlass_api::types::DeliveryInfo;
use windlass_core::delivery::DeliveryState;

use super::Allowed;
use super::settings::{Tab, tabs};
use crate::frame::{Frame, NavEntry};
use crate::{link, words};

/// A provider, and the last that was sent through it.
#[derive(Clone, Debug)]
pub struct ProviderRow {
    /// Its name.
    pub name: String,
    /// What it speaks.
    pub speaks: String,
    /// Where it is, if that is no secret.
    pub address: String,
    /// The last delivery.
    pub last: Option<DeliveryInfo>,
}

/// Where notifications go, and the log of them.
#[derive(Clone, Debug, Template)]
#[template(path = "notifications.html")]
pub struct NotificationsPage {
    /// What surrounds it.
    pub frame: Frame,
    /// By name.
    pub providers: Vec<ProviderRow>,
    /// How many alerts there are.
    pub alerts: usize,
    /// A page of the log, newest first.
    pub deliveries: Vec<DeliveryInfo>,
    /// Only of this provider; empty for all.
    pub provider: String,
    /// Only in this state; empty for all.
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

    /// The states one can choose: spelling and word.
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

/// Whether one can be sent again.
pub(crate) fn can_retry(delivery: &DeliveryInfo) -> bool {
    delivery.state != DeliveryState::Sent
}
