//! Planted secrets: no tool returns one.

use serde_json::{Value, json};

use super::client::{ToolTransport, Tools};
use crate::harness::{Installation, fleet};

/// Part of the fleet, under a key that looks like a secret.
const IN_FLEET: &str = "canary-in-fleet-mcp-1Zq";
/// In a place where no secret belongs.
const MISPLACED: &str = "canary-misplaced-mcp-2Zq";

#[tokio::test(flavor = "multi_thread")]
async fn a_planted_secret_is_in_no_result() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let tools = Tools::with_all_permissions(&installation, ToolTransport::Http).await;
    let work = fleet(&format!(
        "version: 1\naccount: acme\nmodules: {{web: {{config: {{db_password: {IN_FLEET}}}}}}}\n\
         templates: {{t: {{node_platform: ubuntu-24.04-amd64}}}}\n\
         nodes: [{{hostname: a, template: t, config: {{api_token: {IN_FLEET}}}}}]\n"
    ));
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    let mut told = Vec::new();
    let mut note = |tool: &str, value: Value| told.push((tool.to_owned(), value.to_string()));
    for proposal in run["proposals"].as_array().unwrap() {
        let id = json!({"proposal_id": proposal["id"]});
        note("get before", tools.call("system_gitops_get_proposal", id).await);
        let apply = json!({"proposal_id": proposal["id"], "approve": true, "wait_seconds": 60});
        note("apply", tools.call("system_gitops_apply_proposal", apply).await);
    }
    let change = json!({"instance_id": "a", "config": {"api_token": MISPLACED}});
    note("update", tools.call("system_update_instance", change).await);
    let wrong = json!({"repo_url": format!("https://ada:{MISPLACED}@git.example/a")});
    note("register", tools.refused("system_gitops_register_repository", wrong).await);
    let wrong = json!({"repository_id": [MISPLACED]});
    note("wrong type", tools.refused("system_gitops_sync_repository", wrong).await);
    let wrong = json!({"repository_id": "fleet", "confirm_mass_destroy": MISPLACED});
    note("wrong type", tools.refused("system_gitops_sync_repository", wrong).await);
    for (tool, arguments) in [
        ("system_gitops_get_sync_run", json!({"sync_run_id": run["id"]})),
        ("system_gitops_list_proposals", json!({})),
        ("system_gitops_get_drift_report", json!({"repository_id": repository})),
        ("system_gitops_get_repository", json!({"repository_id": repository})),
        ("system_gitops_list_repositories", json!({})),
        ("system_gitops_list_sync_runs", json!({})),
        ("system_list_fleet_events", json!({})),
    ] {
        note(tool, tools.call(tool, arguments).await);
    }
    for (tool, text) in told {
        assert!(!text.contains(IN_FLEET) && !text.contains(MISPLACED), "{tool}: {text}");
    }
    let exported = tools.call("system_export_fleet_yaml", json!({})).await.to_string();
    assert!(exported.contains("values are masked as (hidden)"), "{exported}");
    assert!(!exported.contains(IN_FLEET) && !exported.contains(MISPLACED), "{exported}");
}
