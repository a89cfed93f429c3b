//! Rollouts, newest first.

use askama::Template;
use windlass_api::types::RolloutInfo;

use crate::frame::{Frame, NavEntry};
use crate::pages::rollout_progress;
use crate::{link, words};

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "rollouts.html")]
pub struct RolloutsPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The rollouts, newest first.
    pub rollouts: Vec<RolloutInfo>,
    /// The states that are shown, as in the address; empty for all.
    pub status: String,
    /// The node, if only rollouts that reach it are shown; else empty.
    pub node: String,
    /// Where the list goes on.
    pub next: Option<String>,
}

impl RolloutsPage {
    pub(crate) fn is_open_only(&self) -> bool {
        self.status == "open"
    }

    pub(crate) fn url(&self, status: &str) -> String {
        link::with_query("/app/rollouts", &[("status", status), ("node", &self.node)])
    }

    pub(crate) fn is_moving(&self) -> bool {
        self.rollouts.iter().any(|rollout| rollout.status.is_open())
    }
}
