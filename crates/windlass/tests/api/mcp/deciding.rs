//! Who may use which tool: everyone with the same permission in REST; a decision needs a token with that permission.

use serde_json::{Value, json};
use windlass_api::permission::{Permission, Role};

use super::client::{PROPOSES, SIGNING_METHODS, ToolTransport, Tools};
use crate::harness::{ALL, FLEET, Installation, Person, fleet};

const DECISIONS: [&str; 3] =
    ["system_gitops_approve_proposal", "system_gitops_reject_proposal", "system_gitops_apply_proposal"];

/// A synced repository, and the id of its first proposal.
async fn first_proposal(installation: &Installation) -> String {
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    run["proposals"][0]["id"].as_str().unwrap().to_owned()
}

/// The refusals in the audit log.
async fn refusals(installation: &Installation) -> Vec<Value> {
    let admin = installation.admin().await;
    let audit = installation.get(&admin, "/api/v1/system/audit").await;
    let entries = audit["audit"].as_array().unwrap().clone();
    entries.into_iter().filter(|entry| entry["outcome"] == "refused").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_approves_nothing_through_tools_with_any_permission() {
    let installation = Installation::start().await;
    let proposal = first_proposal(&installation).await;
    let admin = installation.admin().await;
    for transport in SIGNING_METHODS {
        let tools = Tools::connect(&installation, &admin.token, transport).await;
        let offered = tools.names().await;
        assert!(DECISIONS.iter().all(|name| !offered.iter().any(|offered| offered == name)), "{offered:?}");
        for tool in DECISIONS {
            let refused = tools.refused(tool, json!({"proposal_id": proposal})).await;
            assert_eq!(refused["code"], "approval-not-granted");
            assert!(refused["help"].as_str().unwrap().contains("windlass token create"), "{refused}");
        }
        let untouched = tools.call("system_gitops_get_proposal", json!({"proposal_id": proposal})).await;
        assert_eq!(untouched["proposal"]["status"], "pending_approval");
        tools.disconnect().await;
    }
    let noted = refusals(&installation).await;
    // Twice over HTTP; what `windlass mcp` refuses never reaches the server.
    assert_eq!(noted.len(), 2 * DECISIONS.len(), "{noted:#?}");
    assert!(noted.iter().all(|entry| entry["actor"] == admin.email.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_cannot_confirm_a_mass_destroy_through_tools() {
    let installation = Installation::start().await;
    first_proposal(&installation).await;
    let admin = installation.admin().await;
    let sync = "system_gitops_sync_repository";
    let confirming = json!({"repository_id": "fleet", "confirm_mass_destroy": true});
    let tools = Tools::connect(&installation, &admin.token, ToolTransport::Http).await;
    let refused = tools.refused(sync, confirming.clone()).await;
    assert_eq!(refused["code"], "approval-not-granted", "{refused}");
    tools.call(sync, json!({"repository_id": "fleet"})).await;
    tools.disconnect().await;
    let proposing = Tools::with_permissions(&installation, &admin, PROPOSES, ToolTransport::Http).await;
    let refused = proposing.refused(sync, confirming.clone()).await;
    assert!(refused["message"].as_str().unwrap().contains("system.gitops.approve"), "{refused}");
    let permissions = [Permission::GitopsRead, Permission::GitopsSync, Permission::GitopsApprove];
    let deciding = Tools::with_permissions(&installation, &admin, &permissions, ToolTransport::Http).await;
    deciding.call(sync, confirming).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_approves_only_with_the_permission_to_approve() {
    let installation = Installation::start().await;
    let proposal = first_proposal(&installation).await;
    let admin = installation.admin().await;
    let proposing = Tools::with_permissions(&installation, &admin, PROPOSES, ToolTransport::Http).await;
    let refused = proposing.refused(DECISIONS[0], json!({"proposal_id": proposal})).await;
    assert_eq!(refused["message"], "this needs the permission system.gitops.approve");
    assert_eq!(refusals(&installation).await.len(), 1, "what REST refuses is on the record");
    let approver = installation.person(&installation.account, Role::Approver).await;
    let permissions = [Permission::GitopsRead, Permission::GitopsApprove];
    let deciding = Tools::with_permissions(&installation, &approver, &permissions, ToolTransport::Http).await;
    let rejected = json!({"proposal_id": proposal, "reason": "not today", "until_change": true});
    let rejected = deciding.call("system_gitops_reject_proposal", rejected).await;
    assert_eq!(
        (&rejected["proposal"]["status"], &rejected["proposal"]["reason"]),
        (&json!("rejected"), &json!("not today"))
    );
    assert!(rejected["proposal"]["decided_by"].as_str().unwrap().contains(&approver.email), "{rejected}");
    let audit = installation.get(&admin, "/api/v1/system/audit").await;
    let entry = &audit["audit"][0];
    assert_eq!(entry["actor"], format!("{} (token made by a test)", approver.email), "{entry}");
    assert!(
        entry["address"] == "127.0.0.1" && entry["token_id"].is_string() && entry["request_id"].is_string()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_someone_typed_is_approved_only_with_its_digest() {
    let installation = Installation::start().await;
    let typed = first_proposal(&installation).await;
    let (admin, operator) =
        (installation.admin().await, installation.person(&installation.account, Role::Operator).await);
    let path = format!("/api/v1/system/proposals/{typed}");
    let mut payload = installation.get(&admin, &path).await["proposal"]["payload"].clone();
    payload["description"] = json!("typed");
    let edit = json!({ "payload": payload });
    installation.tell(&operator.token, "POST", &format!("{path}/edit"), &edit).await.expect(200);
    let permissions = [Permission::GitopsRead, Permission::GitopsApprove];
    let tools = Tools::with_permissions(&installation, &admin, &permissions, ToolTransport::Http).await;
    let approve = json!({"proposal_id": typed});
    let apply = json!({"proposal_id": typed, "approve": true});
    for (tool, arguments) in [(DECISIONS[0], approve), (DECISIONS[2], apply)] {
        let refused = tools.refused(tool, arguments).await;
        assert_eq!(refused["code"], "digest-needed", "{tool}: {refused}");
    }
    let shown = tools.call("system_gitops_get_proposal", json!({"proposal_id": typed})).await;
    assert_eq!(shown["proposal"]["status"], "pending_approval", "{shown}");
    let reviewed = json!({"proposal_id": typed, "digest": shown["proposal"]["digest"]});
    let approved = tools.call(DECISIONS[0], reviewed).await;
    assert_ne!(approved["proposal"]["status"], "pending_approval", "{approved}");
}

/// Creates a token for MCP on the command line, as a person, and returns its permissions.
async fn made_for_mcp(installation: &Installation, person: &Person, more: &[&str]) -> Vec<String> {
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["token", "create", "assistant", "--for", "mcp", "--output", "json"])
        .args(more)
        .env("WINDLASS_SERVER", &installation.base)
        .env("WINDLASS_TOKEN", &person.token)
        .env("XDG_CONFIG_HOME", installation.directory.path())
        .output()
        .await
        .unwrap();
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    serde_json::from_value(made["token"]["permissions"].clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_made_for_mcp_looks_and_proposes_as_far_as_its_maker_may() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let proposes: Vec<&str> = PROPOSES.iter().map(|permission| permission.slug()).collect();
    assert_eq!(made_for_mcp(&installation, &admin, &[]).await, proposes);
    let more = made_for_mcp(&installation, &admin, &["--permission", "system.gitops.approve"]).await;
    assert!(more.len() == proposes.len() + 1 && more.iter().any(|slug| slug == "system.gitops.approve"));
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    assert_eq!(made_for_mcp(&installation, &viewer, &[]).await, ["system.gitops.read", "system.fleet.read"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_without_permission_are_not_listed() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    for permission in Permission::ALL {
        let tools = Tools::with_permissions(&installation, &admin, &[*permission], ToolTransport::Http).await;
        let offered = tools.names().await;
        for tool in windlass_mcp::tools() {
            let access = tool.operation.endpoint().access;
            let may = access == windlass_api::endpoint::Access::Needs(*permission);
            assert_eq!(offered.iter().any(|name| name == tool.name), may, "{} with {permission}", tool.name);
        }
    }
    let proposing =
        Tools::with_permissions(&installation, &admin, PROPOSES, ToolTransport::Http).await.names().await;
    assert!(proposing.iter().any(|name| name == "system_gitops_register_repository"));
    assert!(!proposing.iter().any(|name| DECISIONS.contains(&name.as_str()) || name == "system_create_node"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_of_another_account_is_answered_like_a_missing_one() {
    let installation = Installation::start().await;
    let proposal = first_proposal(&installation).await;
    let other = installation.new_account("other").await;
    let stranger = installation.person(&other, Role::Admin).await;
    let tools = Tools::with_permissions(&installation, &stranger, &ALL, ToolTransport::Http).await;
    let admin = installation.admin().await;
    let shown = installation.get(&admin, &format!("/api/v1/system/proposals/{proposal}")).await;
    let (run, repository) = (&shown["proposal"]["run_id"], &shown["proposal"]["repository_id"]);
    let never = "0193a1b2-0000-7000-8000-00000000aaaa";
    for (tool, key, id) in [
        ("system_gitops_get_proposal", "proposal_id", &json!(proposal)),
        ("system_gitops_approve_proposal", "proposal_id", &json!(proposal)),
        ("system_gitops_reject_proposal", "proposal_id", &json!(proposal)),
        ("system_gitops_apply_proposal", "proposal_id", &json!(proposal)),
        ("system_gitops_get_sync_run", "sync_run_id", run),
        ("system_gitops_get_repository", "repository_id", repository),
        ("system_gitops_sync_repository", "repository_id", repository),
        ("system_gitops_unregister_repository", "repository_id", repository),
        ("system_gitops_get_drift_report", "repository_id", repository),
        ("system_gitops_list_proposals", "repository_id", repository),
        ("system_export_fleet_yaml", "repository_id", repository),
    ] {
        let mut of_others = tools.refused(tool, json!({ key: id })).await;
        let mut absent = tools.refused(tool, json!({ key: never })).await;
        for error in [&mut of_others, &mut absent] {
            error.as_object_mut().unwrap().remove("request_id");
        }
        assert_eq!(of_others, absent, "{tool}");
        assert_eq!(absent["code"], "not-found", "{tool}");
    }
    for (tool, key) in [
        ("system_gitops_list_repositories", "repositories"),
        ("system_gitops_list_sync_runs", "sync_runs"),
        ("system_gitops_list_proposals", "proposals"),
        ("system_list_fleet_events", "fleet_events"),
    ] {
        assert_eq!(tools.call(tool, json!({})).await[key], json!([]), "{tool}");
    }
}
