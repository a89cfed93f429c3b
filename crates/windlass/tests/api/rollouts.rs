//! A change moves over nodes in waves, as its template says; people pause, resume, abort and promote it.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_api::permission::Role;

use crate::harness::{now, texts};
use crate::rolling_fleet::{Fleet, ROLLOUTS, Report, key};

const ONE_BY_ONE: &str = "{max_unavailable: 1}";

#[tokio::test(flavor = "multi_thread")]
async fn a_change_moves_node_by_node_and_goes_on_after_a_restart() {
    let mut fleet = Fleet::start(ONE_BY_ONE, 3).await;
    assert_eq!(fleet.rollouts().await, Vec::<Value>::new(), "first documents need no rollout");
    fleet.change(ONE_BY_ONE, 2).await;
    fleet.wait_for_generations(&[2, 1, 1]).await;
    let rollout = fleet.wait_for_status("running").await;
    assert_eq!((&rollout["governed_kind"], &rollout["governed_name"]), (&json!("template"), &json!("edge")));
    assert_eq!(rollout["proposals"].as_array().unwrap().len(), 1, "the change of the module: {rollout}");
    fleet.report("edge-1", Report::InSync).await;
    fleet.wait_for_generations(&[2, 2, 1]).await;

    fleet.installation = fleet.installation.restart().await;
    assert_eq!(fleet.generations().await, [2, 2, 1]);
    fleet.report("edge-2", Report::InSync).await;
    fleet.wait_for_generations(&[2, 2, 2]).await;
    fleet.report("edge-3", Report::InSync).await;
    let rollout = fleet.wait_for_status("completed").await;
    assert_eq!(rollout["counts"]["converged"], 3);
    let events = fleet.installation.get(&fleet.admin, "/api/v1/system/fleet_events?kind=rollout.").await;
    assert_eq!(texts(&events["fleet_events"], "kind"), ["rollout.completed", "rollout.started"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_stops_it_with_the_reason_and_people_resume_abort_and_promote() {
    let fleet = Fleet::start(ONE_BY_ONE, 4).await;
    fleet.change(ONE_BY_ONE, 2).await;
    fleet.wait_for_generations(&[2, 1, 1, 1]).await;
    fleet.report("edge-1", Report::Failed("apt: exit code 100")).await;
    let rollout = fleet.wait_for_status("stopped").await;
    assert_eq!(rollout["reason"], "edge-1 failed, and the rollout stops at 1 failure");
    assert_eq!(rollout["actions"], json!(["resume", "abort", "promote"]));
    let path = format!("{ROLLOUTS}/{}", rollout["id"].as_str().unwrap());
    let shown = fleet.installation.get(&fleet.admin, &path).await;
    assert_eq!(shown["nodes"][0]["message"], "apt: exit code 100");
    assert_eq!(shown["waves"][0]["counts"]["waiting"], 3);

    assert_eq!(fleet.decide("resume", json!({})).await.code(), "reason-missing");
    assert_eq!(fleet.decide("pause", json!({"reason": "wait"})).await.code(), "rollout-changed");
    let seen = json!({"reason": "go on", "status": "running"});
    let refused = fleet.decide("promote", seen).await;
    assert_eq!(refused.status, 409);
    assert!(refused.text.contains("was running, and is stopped now"), "{refused:?}");
    fleet.decide("resume", json!({"reason": "known problem", "status": "stopped"})).await.expect(200);
    fleet.wait_for_generations(&[2, 2, 1, 1]).await;

    fleet.decide("pause", json!({"reason": "lunch"})).await.expect(200);
    fleet.report("edge-2", Report::InSync).await;
    fleet.wait("two in sync", async || fleet.newest().await["counts"]["converged"] == 1).await;
    assert_eq!(fleet.generations().await, [2, 2, 1, 1]);
    let reason = format!("paused by {}: lunch", fleet.admin.email);
    assert_eq!(fleet.newest().await["reason"], reason);

    fleet.decide("abort", json!({"reason": "wrong version"})).await.expect(200);
    let rollout = fleet.newest().await;
    assert_eq!((&rollout["status"], &rollout["actions"]), (&json!("aborted"), &json!(["promote"])));
    assert_eq!(fleet.decide("resume", json!({"reason": "no"})).await.code(), "rollout-changed");
    assert_eq!(fleet.generations().await, [2, 2, 1, 1], "what was not reached keeps what it has");

    fleet.decide("promote", json!({"reason": "right after all"})).await.expect(200);
    fleet.wait_for_generations(&[2, 2, 2, 2]).await;
    let audit = fleet.installation.get(&fleet.admin, "/api/v1/system/audit").await;
    let actions = texts(&audit["audit"], "action");
    let decided: Vec<&String> = actions.iter().filter(|action| action.starts_with("rollout.")).collect();
    assert_eq!(decided.len(), 7, "four decisions and three refusals: {decided:?}");
    let viewer = fleet.installation.person(&fleet.admin.account, Role::Viewer).await;
    fleet.installation.ask(&viewer.token, "GET", &path).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fix_supersedes_a_stopped_rollout_and_the_kill_switch_stops_all() {
    let fleet = Fleet::start(ONE_BY_ONE, 3).await;
    fleet.change(ONE_BY_ONE, 2).await;
    fleet.wait_for_generations(&[2, 1, 1]).await;
    fleet.report("edge-1", Report::Failed("exit code 1")).await;
    fleet.wait_for_status("stopped").await;
    fleet.change(ONE_BY_ONE, 3).await;
    fleet.wait_for_generations(&[3, 1, 1]).await;
    let statuses = texts(&json!(fleet.rollouts().await), "status");
    assert_eq!(statuses, ["running", "superseded"]);

    let (halt, resume) = ("/api/v1/system/halt", "/api/v1/system/resume");
    fleet.installation.tell(&fleet.admin.token, "POST", halt, &json!({"reason": "stop"})).await.expect(200);
    fleet.report("edge-1", Report::InSync).await;
    // Longer than the loop waits without a nudge.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(fleet.generations().await, [3, 1, 1]);
    fleet.installation.tell(&fleet.admin.token, "POST", resume, &json!({})).await.expect(200);
    fleet.wait_for_generations(&[3, 2, 1]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn offline_nodes_are_skipped_waited_for_or_caught_up_and_waves_follow_one_another() {
    for (mode, expected) in [("skip", [1, 2, 2]), ("wait", [2, 1, 1]), ("catch_up", [2, 2, 2])] {
        let rollout = format!("{{offline: {mode}, max_unavailable: 2}}");
        let fleet = Fleet::start(&rollout, 3).await;
        // The agent of edge-1 is revoked: it is out of contact.
        let mut writing = fleet.installation.store.write_account(&fleet.admin.account).await.unwrap();
        writing.agent_revoke(&key("edge-1"), now()).await.unwrap();
        writing.commit().await.unwrap();
        let rollout = rollout
            .replace("max_unavailable: 2", "max_unavailable: 2, waves: [{name: first, nodes: [edge-1]}]");
        fleet.change(&rollout, 2).await;
        fleet.wait_for_generations(&expected).await;
    }
}
