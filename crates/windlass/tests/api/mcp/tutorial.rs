//! The tutorial's tool calls, in its order, from registering a repository to a fleet without drift.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

use serde_json::{Value, json};
use windlass_server::{Gitea, credentials_in};
use windlass_testkit::servers::{FakeForge, ForgeFlavour};

use super::client::{SIGNING_METHODS, ToolTransport, Tools};
use crate::harness::{Installation, TIMEOUT, config, file_url, fleet};

/// The tutorial's fleet.
const TUTORIAL: &str = include_str!("../../../src/commands/demo.yaml");

/// Polls a run until it has a status.
async fn run_that_is(tools: &Tools, id: &str, status: &str) -> Value {
    let begun = Instant::now();
    loop {
        let run = tools.call("system_gitops_get_sync_run", json!({"sync_run_id": id})).await;
        if run["status"] == status {
            return run;
        }
        assert!(run["status"] != "failed" && begun.elapsed() < TIMEOUT, "{run}");
    }
}

/// An installation that is connected to a Gitea.
async fn with_gitea(gitea: &FakeForge) -> Installation {
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("gitea.json");
    fs::write(&token, json!({"token": FakeForge::TOKEN}).to_string()).unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let mut config = config(directory.path());
    config.control.credentials = credentials_in(directory.path());
    config.control.gitea = Some(Gitea::new(&gitea.url(), "gitea", None).unwrap());
    Installation::start_with(directory, config).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tutorials_calls_lead_from_an_empty_account_to_a_fleet_without_drift_however_one_connects() {
    for transport in SIGNING_METHODS {
        let gitea = FakeForge::start(ForgeFlavour::Gitea);
        let installation = with_gitea(&gitea).await;
        let tools = Tools::with_all_permissions(&installation, transport).await;
        let made = json!({"owner": "acme", "repo": "fleet-config", "private": true});
        let made = tools.call("create_gitea_repository", made).await;
        assert_eq!(made["repository"]["full_name"], "acme/fleet-config", "{made}");
        let work = fleet(TUTORIAL);
        let registered = tools
            .call(
                "system_gitops_register_repository",
                json!({"name": "fleet-config", "repo_url": file_url(&work), "branch": "main",
                    "reconcile_interval_seconds": 300}),
            )
            .await;
        let repository = &registered["repository"];
        assert_eq!((&repository["status"], &repository["branch"]), (&json!("syncing"), &json!("main")));
        assert_eq!(repository["reconcile_interval_seconds"], 300);
        let repository = repository["id"].as_str().unwrap();
        let run = it_is_synced(&tools, repository).await;
        let proposals = it_reads_as_printed(&tools, &run).await;
        it_is_applied(&tools, &run, &proposals).await;
        let report = tools.call("system_gitops_get_drift_report", json!({"repository_id": repository})).await;
        assert_eq!(report["drift"], false, "{report}");
        a_change_by_hand_is_drift_until_it_is_taken_back(&tools, repository).await;
        it_is_exported_and_unregistered(&tools, repository).await;
        tools.disconnect().await;
    }
}

async fn it_is_synced(tools: &Tools, repository: &str) -> String {
    let synced = tools.call("system_gitops_sync_repository", json!({"repository_id": repository})).await;
    let run = &synced["sync_run"];
    assert_eq!((&run["status"], &run["repository_id"]), (&json!("in_progress"), &json!(repository)));
    let listed = tools.call("system_gitops_list_sync_runs", json!({"repository_id": "fleet-config"})).await;
    assert!(listed["sync_runs"].as_array().unwrap().iter().any(|found| found["id"] == run["id"]), "{listed}");
    run["id"].as_str().unwrap().to_owned()
}

async fn it_reads_as_printed(tools: &Tools, run: &str) -> Vec<Value> {
    let arguments = json!({"sync_run_id": run, "wait_seconds": 60});
    let run = tools.call("system_gitops_get_sync_run", arguments).await;
    assert_eq!(run["status"], "diff_ready", "{run}");
    let diff = &run["diff"];
    assert_eq!(diff["templates"], json!({"add": ["edge-base", "edge-cdn"], "update": [], "delete": []}));
    assert_eq!(diff["nodes"]["add"], json!(["edge-london-01", "edge-tokyo-01", "edge-tokyo-02"]));
    assert_eq!(diff["sdwan"]["networks"]["add"], json!(["edge-fabric"]));
    assert_eq!(diff["sdwan"]["peers"]["add"].as_array().unwrap().len(), 3);
    assert_eq!(diff["sdwan"]["virtual_ips"]["add"], json!(["edge-fabric/cdn-frontend"]));
    let proposals = run["proposals"].as_array().unwrap().clone();
    assert_eq!(proposals.len(), 10);
    let first = &proposals[0];
    assert_eq!((&first["action"], &first["status"]), (&json!("create_template"), &json!("pending_approval")));
    assert_eq!(first["payload"]["name"], "edge-base");
    proposals
}

async fn it_is_applied(tools: &Tools, run: &str, proposals: &[Value]) {
    let first = &proposals[0]["id"];
    let shown = tools.call("system_gitops_get_proposal", json!({"proposal_id": first})).await;
    let digest = &shown["proposal"]["digest"];
    let early = tools.refused("system_gitops_apply_proposal", json!({"proposal_id": first})).await;
    assert_eq!(early["code"], "not-approved");
    let moved = json!({"proposal_id": first, "digest": format!("sha256:{}", "0".repeat(64))});
    assert_eq!(tools.refused("system_gitops_approve_proposal", moved).await["code"], "moved");
    let approve = json!({"proposal_id": first, "digest": digest, "reason": "as the tutorial says"});
    let approved = tools.call("system_gitops_approve_proposal", approve).await;
    assert_ne!(approved["proposal"]["status"], "pending_approval");
    for proposal in proposals {
        let arguments = json!({"proposal_id": proposal["id"], "approve": true, "wait_seconds": 60});
        let applied = tools.call("system_gitops_apply_proposal", arguments).await;
        assert_eq!(applied["proposal"]["status"], "applied", "{applied}");
    }
    let run = run_that_is(tools, run, "applied").await;
    assert_eq!(run["applied_actions"].as_array().unwrap().len(), 10);
    assert_eq!((&run["failed_actions"], &run["drift_after_apply"]), (&json!([]), &json!({})));
}

async fn a_change_by_hand_is_drift_until_it_is_taken_back(tools: &Tools, repository: &str) {
    let changed = json!({"instance_id": "edge-tokyo-01", "region": "ap-osaka-1"});
    let changed = tools.call("system_update_instance", changed).await;
    assert_eq!(changed["instance"]["spec"]["region"], "ap-osaka-1");
    let report = tools.call("system_gitops_get_drift_report", json!({"repository_id": repository})).await;
    assert_eq!((&report["drift"], &report["drifted"][0]["name"]), (&json!(true), &json!("edge-tokyo-01")));
    let told = tools.call("system_list_fleet_events", json!({"resource": "node/edge-tokyo-01"})).await;
    assert_eq!(told["fleet_events"][0]["resource_name"], "edge-tokyo-01", "{told}");
    let back = json!({"hostname": "edge-tokyo-01", "region": "ap-tokyo-1"});
    tools.call("system_update_instance", back).await;
    let report = tools.call("system_gitops_get_drift_report", json!({"repository_id": repository})).await;
    assert_eq!(report["drift"], false);
}

async fn it_is_exported_and_unregistered(tools: &Tools, repository: &str) {
    let exported = tools.call("system_export_fleet_yaml", json!({"repository_id": repository})).await;
    assert!(exported["fleet_yaml"].as_str().unwrap().contains("hostname: edge-tokyo-01"), "{exported}");
    assert_eq!(exported["next_offset"], Value::Null);
    let gone = tools.call("system_gitops_unregister_repository", json!({"repository_id": repository})).await;
    assert_eq!(gone["unregistered"], true);
    let absent = tools.refused("system_gitops_get_repository", json!({"repository_id": repository})).await;
    assert_eq!(absent["code"], "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn approved_proposals_serve_as_a_checklist_to_be_done_by_hand() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let tools = Tools::with_all_permissions(&installation, ToolTransport::Http).await;
    let sections = TUTORIAL.split("sdwan:").next().unwrap();
    let work = fleet(sections);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    let run = run["id"].as_str().unwrap();
    let shown = tools.call("system_gitops_get_sync_run", json!({"sync_run_id": run})).await;
    for proposal in shown["proposals"].as_array().unwrap() {
        // The payload unchanged: `{ ...proposal.payload }`.
        let tool = format!("system_{}", proposal["action"].as_str().unwrap());
        let made = tools.call(&tool, proposal["payload"].clone()).await;
        let noun = if tool.ends_with("node") { "node" } else { "node_template" };
        assert_eq!(made[noun]["name"], proposal["name"], "{made}");
        // Approved only afterwards: an approved change could be applied before it is made directly.
        tools.call("system_gitops_approve_proposal", json!({"proposal_id": proposal["id"]})).await;
    }
    let run = run_that_is(&tools, run, "applied_manually").await;
    assert_eq!(run["failed_actions"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_is_named_as_the_tutorial_names_it() {
    let installation = Installation::start().await;
    let tools = Tools::with_all_permissions(&installation, ToolTransport::Http).await;
    let arguments = json!({"repo_url": "git@registry.example.com:acme/fleet-config.git", "branch": "main",
        "ssh_credential_id": "git/ssh", "reconcile_interval_seconds": 300, "enabled": false});
    let registered = tools.call("system_gitops_register_repository", arguments.clone()).await;
    assert_eq!(registered["repository"]["vault_credential_path"], "git/ssh");
    assert_eq!(registered["repository"]["required_credential_keys"], json!(["ssh_key"]));
    let mut both = arguments;
    both["vault_credential_path"] = json!("git/ssh");
    assert_eq!(tools.refused("system_gitops_register_repository", both).await["code"], "bad-argument");
}
