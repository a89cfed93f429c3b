//! A rollout as it moves over the fleet, and a decision about it.

use windlass_core::rollout::RolloutNodeState;

use crate::harness::Installation;
use crate::rolling_fleet::{Fleet, Report};
use crate::window::Window;

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_moves_before_ones_eyes_and_goes_on_when_someone_resumes_it() {
    let rollout = "{max_unavailable: 1, waves: [{name: canary, nodes: [edge-1]}]}";
    let fleet = Fleet::start(rollout, 4).await;
    let Some(window) = Window::of(&fleet.installation, &fleet.admin).await else { return };
    fleet.change(rollout, 2).await;
    fleet.wait_for_generations(&[2, 1, 1, 1]).await;
    window.goto("/app/rollouts").await;
    window.click("tr[data-row] [data-open]").await;
    window.wait_for_text("Wave 2").await;
    window.run("window.mark = 'the same page';").await;
    let cells = |state: &str, count: usize| {
        format!("document.querySelectorAll('.cells .cell-{state}').length === {count}")
    };
    window.until(&cells("applying", 1)).await;
    window.until(&cells("waiting", 3)).await;
    fleet.report("edge-1", Report::InSync).await;
    window.until(&cells("converged", 1)).await;
    fleet.report("edge-2", Report::Failed("nginx: exit code 1")).await;
    window.wait_for_text("edge-2 failed, and the rollout stops at 1 failure").await;
    window.wait_for_text("nginx: exit code 1").await;
    assert_eq!(window.value("window.mark").await, "the same page");
    let label = "document.querySelectorAll('.cells')[1].getAttribute('aria-label')";
    assert_eq!(window.value(label).await, "Wave rest: 0 of 3 in sync, 1 failed, 2 waiting");

    window.run("document.querySelector('#reason-resume').closest('details').open = true;").await;
    window.fill("#reason-resume", "a known problem of this machine").await;
    window.click("form[action$='/resume'] button").await;
    window.wait_for_text("Rollout resumed").await;
    fleet.wait_for_generations(&[2, 2, 2, 1]).await;
    window.until(&cells("applying", 1)).await;
    window.close_without_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_over_5000_nodes_is_readable_in_both_widths() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let Some(window) = Window::of(&installation, &admin).await else { return };
    let names: Vec<String> = (0..5_000).map(|number| format!("edge-{number:05}")).collect();
    let state = |index: usize| match index {
        _ if index % 500 == 7 => RolloutNodeState::Failed,
        0..3_500 => RolloutNodeState::InSync,
        3_500..3_700 => RolloutNodeState::Applying,
        _ if index.is_multiple_of(50) => RolloutNodeState::Offline,
        _ => RolloutNodeState::Waiting,
    };
    let nodes: Vec<(&str, RolloutNodeState)> =
        names.iter().enumerate().map(|(index, name)| (name.as_str(), state(index))).collect();
    let id = installation.store_rollout(&installation.account, &nodes).await;
    let path = format!("/app/rollouts/{id}");
    for (width, most_height) in [(1280, 1_000), (400, 2_000)] {
        window.resize(width, 900).await;
        window.goto(&path).await;
        assert_eq!(window.value("document.querySelectorAll('.cells .cell').length").await, 5_000);
        let overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(window.value(overflow).await, 0, "at {width}");
        let height =
            window.value("Math.round(document.querySelector('.cells').getBoundingClientRect().height)").await;
        assert!(height.as_i64().unwrap() < most_height, "{height} at {width}");
        // Who failed is named, and counts are text.
        window.wait_for_text("10 failed nodes").await;
        window.wait_for_text("edge-00507").await;
    }
    window.close_without_errors().await;
}
