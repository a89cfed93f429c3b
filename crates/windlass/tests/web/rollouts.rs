//! The pages of rollouts, without a script.

use windlass_api::permission::Role;
use windlass_core::rollout::RolloutNodeState;

use crate::browser::{Browser, button};
use crate::harness::Installation;
use crate::rolling_fleet::{Fleet, Report};

/// The most bytes of the page of a rollout over 5,000 nodes, before compression. It is sent every 3 seconds.
const MAX_BYTES: usize = 700_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_is_stopped_resumed_promoted_and_aborted_with_plain_forms() {
    let rollout = "{max_unavailable: 1, waves: [{name: canary, nodes: [edge-1]}]}";
    let fleet = Fleet::start(rollout, 3).await;
    fleet.change(rollout, 2).await;
    fleet.wait_for_generations(&[2, 1, 1]).await;
    let mut browser = Browser::of(&fleet.installation, &fleet.admin);
    let list = browser.page("/app/rollouts?status=open").await;
    assert!(list.contains("0 of 3 in sync, 1 applying, 2 waiting"), "{list}");
    let url = format!("/app/rollouts/{}", fleet.newest().await["id"].as_str().unwrap());
    let page = browser.page(&url).await;
    assert!(
        button(&page, "Abort").contains("data-ask=\"Abort the rollout? 2 waiting nodes will not"),
        "{page}"
    );
    assert!(!button(&page, "Pause").contains("data-ask"), "{page}");
    let reason = ("reason", "an incident");
    let silent = browser.submit_and_follow(&page, &format!("{url}/pause"), &[]).await;
    assert!(silent.contains("a decision about a rollout needs a reason"), "{silent}");
    let form = [reason, ("status", "running")];
    let paused = browser.submit_and_follow(&page, &format!("{url}/pause"), &form).await;
    assert!(paused.contains("Rollout paused") && paused.contains("an incident"), "{paused}");
    // The same page again: somebody else decided meanwhile.
    let late = browser.submit_and_follow(&page, &format!("{url}/abort"), &form).await;
    assert!(late.contains("the rollout was running, and is paused now"), "{late}");
    fleet.report("edge-1", Report::InSync).await;
    let form = [reason, ("status", "paused")];
    let promoted = browser.submit_and_follow(&paused, &format!("{url}/promote"), &form).await;
    assert!(promoted.contains("Rollout promoted"), "{promoted}");
    fleet.wait_for_generations(&[2, 2, 2]).await;
    let viewer = fleet.installation.person(&fleet.admin.account, Role::Viewer).await;
    fleet.change(rollout, 3).await;
    fleet.wait_for_status("running").await;
    let url = format!("/app/rollouts/{}", fleet.newest().await["id"].as_str().unwrap());
    let seen = Browser::of(&fleet.installation, &viewer).page(&url).await;
    assert!(
        button(&seen, "Abort").contains(" disabled") && seen.contains("this needs the permission"),
        "{seen}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_rollout_over_5000_nodes_lists_failures_and_stays_small() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let names: Vec<String> = (0..5_000).map(|number| format!("edge-frankfurt-{number:05}")).collect();
    let state = |index: usize| match index {
        _ if index % 25 == 7 => RolloutNodeState::Failed,
        _ if index < 3_500 => RolloutNodeState::InSync,
        _ => RolloutNodeState::Waiting,
    };
    let nodes: Vec<(&str, RolloutNodeState)> =
        names.iter().enumerate().map(|(index, name)| (name.as_str(), state(index))).collect();
    let id = installation.store_rollout(&installation.account, &nodes).await;
    let page = Browser::of(&installation, &admin).page(&format!("/app/rollouts/{id}")).await;
    assert_eq!(
        page.matches("<i class=\"cell cell-").count(),
        5_000 + 2 * 3 - 1,
        "cells, the legend and the lists"
    );
    assert!(page.contains("200 failed nodes") && page.contains("and 100 more"), "{page}");
    assert!(page.len() < MAX_BYTES, "{} bytes", page.len());
}
