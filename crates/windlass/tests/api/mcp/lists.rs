//! Lists continue at their cursor, and a response reports what it leaves out.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::client::{ToolTransport, Tools};
use crate::harness::{FLEET, Installation, file_url, fleet};

/// Every item of a list, a few at a time, by a text that each has.
async fn all(tools: &Tools, tool: &str, list: &str, key: &str) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = tools.call(tool, json!({"limit": 2, "cursor": cursor})).await;
        let items = page[list].as_array().unwrap();
        assert!(items.len() <= 2);
        found.extend(items.iter().map(|item| item[key].to_string()));
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            return found;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_comes_in_pages_that_make_up_the_whole() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    for name in ["a", "b", "c", "d", "e"] {
        let repository = installation.register(&admin, name, &work).await;
        if name == "a" {
            installation.sync(&admin, &repository).await;
        }
    }
    let tools = Tools::with_all_permissions(&installation, ToolTransport::Http).await;
    assert_eq!(all(&tools, "system_gitops_list_repositories", "repositories", "name").await.len(), 5);
    for (tool, list, key, path) in [
        ("system_gitops_list_proposals", "proposals", "id", "proposals"),
        ("system_gitops_list_sync_runs", "sync_runs", "id", "gitops_sync_runs"),
        ("system_list_fleet_events", "fleet_events", "seq", "fleet_events"),
    ] {
        let found = all(&tools, tool, list, key).await;
        let known = installation.get(&admin, &format!("/api/v1/system/{path}?limit=500")).await;
        let known: Vec<String> =
            known[list].as_array().unwrap().iter().map(|item| item[key].to_string()).collect();
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "{tool}");
        assert!(known.len() >= found.len() && !found.is_empty() && known.ends_with(&found), "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_run_is_told_in_part_with_how_to_get_the_rest() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let nodes: String =
        (0..120).map(|number| format!("  - {{hostname: n-{number:03}, template: t}}\n")).collect();
    let work = fleet(&format!(
        "version: 1\naccount: acme\ntemplates: {{t: {{node_platform: ubuntu-24.04-amd64}}}}\nnodes:\n{nodes}"
    ));
    let tools = Tools::with_all_permissions(&installation, ToolTransport::Http).await;
    let repository = installation.register(&admin, "large", &work).await;
    let run = installation.sync(&admin, &repository).await;
    let told = tools.call("system_gitops_get_sync_run", json!({"sync_run_id": run["id"]})).await;
    assert_eq!((&told["diff_count"], told["proposals"].as_array().unwrap().len()), (&json!(121), 50));
    let left = told["left_out"].to_string();
    assert!(left.contains("proposals: 50 of 121") && left.contains("system_gitops_list_proposals"), "{left}");
    let listed =
        tools.call("system_gitops_list_proposals", json!({"sync_run_id": run["id"], "limit": 500})).await;
    assert_eq!(listed["proposals"].as_array().unwrap().len(), 121);
    let url = file_url(&work);
    assert!(
        tools.call("system_gitops_get_repository", json!({"repository_id": "large"})).await["repository"]["repo_url"]
            == url
    );
}
