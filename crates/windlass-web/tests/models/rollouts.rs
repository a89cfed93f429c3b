//! Models of the pages about rollouts.

use windlass_api::types::{RolloutInfo, RolloutNodeCounts, RolloutNodeInfo, RolloutWave};
use windlass_core::rollout::{RolloutAction, RolloutNodeState, RolloutStatus};
use windlass_web::Html;
use windlass_web::pages::rollout::RolloutPage;
use windlass_web::pages::rollouts::RolloutsPage;

use super::{frame, some, text};

fn rollout(t: &str, status: RolloutStatus) -> RolloutInfo {
    RolloutInfo {
        id: text(t),
        governed_kind: text(t),
        governed_name: text(t),
        status,
        reason: some(t),
        counts: counts(),
        max_unavailable: text(t),
        failure_threshold: text(t),
        pause: some(t),
        offline: text(t),
        proposals: vec![text(t)],
        actions: RolloutAction::ALL.to_vec(),
        started_at: text(t),
        updated_at: text(t),
        ended_at: some(t),
    }
}

fn counts() -> RolloutNodeCounts {
    RolloutNodeCounts { waiting: 1, applying: 1, offline: 1, failed: 1, converged: 1, left: 1, total: 6 }
}

fn node(t: &str, state: RolloutNodeState) -> RolloutNodeInfo {
    RolloutNodeInfo {
        node: text(t),
        wave: text(t),
        state,
        message: some(t),
        tolerated: true,
        released_at: some(t),
        settled_at: some(t),
    }
}

pub(super) fn every_page(t: &str) -> Vec<(&'static str, String)> {
    let rollouts: Vec<RolloutInfo> = RolloutStatus::ALL.iter().map(|status| rollout(t, *status)).collect();
    let nodes = RolloutNodeState::ALL.iter().map(|state| node(t, *state)).collect();
    let wave = RolloutWave { name: text(t), counts: counts() };
    let empty =
        RolloutsPage { frame: frame(t), rollouts: vec![], status: text("open"), node: text(""), next: None };
    let page = RolloutPage {
        frame: frame(t),
        rollout: rollout(t, RolloutStatus::Running),
        waves: vec![(wave, nodes)],
    };
    vec![
        (
            "rollouts",
            RolloutsPage { frame: frame(t), rollouts, status: text(t), node: text(t), next: some(t) }.html(),
        ),
        ("no rollouts", empty.html()),
        ("rollout", page.html()),
    ]
}
