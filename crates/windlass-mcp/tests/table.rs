//! Compares the table of tools with the specification and with the endpoint table.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use windlass_api::endpoint::Method;
use windlass_mcp::{Effect, Tool, find, tools};

/// The tools of the specification that have an endpoint, and the one that approves a whole plan.
const SPECIFIED: &[&str] = &[
    "create_gitea_repository",
    "system_gitops_register_repository",
    "system_gitops_list_repositories",
    "system_gitops_get_repository",
    "system_gitops_unregister_repository",
    "system_gitops_sync_repository",
    "system_gitops_get_sync_run",
    "system_gitops_list_sync_runs",
    "system_gitops_get_drift_report",
    "system_gitops_list_proposals",
    "system_gitops_get_proposal",
    "system_gitops_approve_proposal",
    "system_gitops_approve_plan",
    "system_gitops_reject_proposal",
    "system_gitops_apply_proposal",
    "system_export_fleet_yaml",
    "system_create_node",
    "system_create_template",
    "system_update_instance",
    "system_list_module_versions",
    "list_vault_credentials",
    "system_list_fleet_events",
    "system_list_rollouts",
    "system_get_rollout",
    "system_list_node_status",
    "system_get_node_status",
    "system_get_node_drift",
];

#[test]
fn every_tool_of_the_specification_is_in_the_table_once() {
    let names: Vec<&str> = tools().iter().map(|tool| tool.name).collect();
    assert_eq!(
        names, SPECIFIED,
        "on the left the table, on the right `SPECIFIED`: a new tool is added to both"
    );
    assert!(find("system_gitops_sync_repository").is_some() && find("system_gitops").is_none());
}

/// Arguments with everything that is required, and then with the optional ones.
fn examples(tool: &Tool) -> Vec<Map<String, Value>> {
    let schema = tool.schema();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut least: Map<String, Value> =
        required.iter().map(|key| (key.as_str().unwrap().to_owned(), json!("a"))).collect();
    if tool.name == "system_update_instance" {
        least.insert("instance_id".to_owned(), json!("a"));
    }
    let mut all = vec![least.clone()];
    if schema["properties"].get("approve").is_some() {
        least.insert("approve".to_owned(), json!(true));
        all.push(least);
    }
    all
}

#[test]
fn every_call_of_a_tool_needs_the_permission_of_its_row() {
    for tool in tools() {
        let access = tool.operation.endpoint().access;
        for example in examples(tool) {
            let calls = tool.calls(&example).unwrap();
            assert_eq!(calls.last().unwrap().operation, tool.operation, "{}", tool.name);
            for call in calls {
                assert_eq!(call.operation.endpoint().access, access, "{}", tool.name);
                let known: BTreeSet<&str> =
                    call.operation.endpoint().query.iter().map(|(name, _)| *name).collect();
                assert!(call.query.iter().all(|(name, _)| known.contains(name)), "{}", tool.name);
                assert!(call.path_and_query().starts_with("/api/v1/"), "{}", tool.name);
            }
        }
    }
}

#[test]
fn what_only_looks_is_a_get_and_what_does_not_is_none() {
    for tool in tools() {
        let is_get = tool.operation.endpoint().method == Method::Get;
        assert_eq!(tool.effect == Effect::Reads, is_get, "{}", tool.name);
    }
}

#[test]
fn every_query_of_a_list_is_offered() {
    // Tools that have another name in the tutorial.
    let called = |name: &'static str| match name {
        "run" => "sync_run_id",
        "repository" => "repository_id",
        "wait" => "wait_seconds",
        other => other,
    };
    for tool in tools() {
        let offered = tool.schema();
        for (name, _) in tool.operation.endpoint().query {
            // Tools never return hidden values.
            if *name == "secrets" {
                continue;
            }
            assert!(offered["properties"].get(called(name)).is_some(), "{} {name}", tool.name);
        }
    }
}
