//! The descriptions of tools, and the errors for wrong arguments.

use std::path::Path;

use serde_json::json;

use super::client::{ToolTransport, Tools};
use crate::harness::Installation;

#[tokio::test(flavor = "multi_thread")]
async fn the_tools_describe_themselves_as_they_did() {
    let installation = Installation::start().await;
    let tools = Tools::with_all_permissions(&installation, ToolTransport::Http).await;
    let all = tools.all().await;
    for tool in &all {
        let schema = tool.schema_as_json_value();
        assert!(jsonschema::meta::is_valid(&schema), "{}", tool.name);
        assert_eq!(schema["type"], "object", "{}", tool.name);
        for (name, about) in schema["properties"].as_object().unwrap() {
            assert!(about["description"].is_string(), "{} {name}", tool.name);
        }
    }
    let told = serde_json::to_string_pretty(&all).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mcp-tools.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &told).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(known == told, "the tools changed: UPDATE_GOLDEN=1 writes {}", path.display());
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_are_refused_with_what_would_be_right() {
    let installation = Installation::start().await;
    let tools = Tools::with_all_permissions(&installation, ToolTransport::Http).await;
    for (tool, arguments, code, help) in [
        (
            "system_gitops_sync_repository",
            json!({"repositoryid": "a"}),
            "unknown-argument",
            "did you mean `repository_id`?",
        ),
        ("system_gitops_sync_repository", json!({}), "missing-argument", "`repository_id` (string)"),
        (
            "system_gitops_sync_repository",
            json!({"repository_id": 7}),
            "bad-argument",
            "`repository_id` (string)",
        ),
        ("system_gitops_sync_repository", json!({"repository_id": ".."}), "bad-value", "id or name"),
        ("system_gitops_list_proposals", json!({"limit": "ten"}), "bad-argument", "`limit` (integer)"),
        ("system_gitops_list_proposals", json!({"limit": 501}), "bad-request", ""),
        ("system_gitops_list_repositories", json!({"limit": 0}), "bad-argument", "50"),
        ("list_vault_credentials", json!({"scope": "mine"}), "bad-argument", "`scope`"),
        (
            "system_create_node",
            json!({"hostname": "a", "templat": "b"}),
            "unknown-argument",
            "did you mean `template`?",
        ),
        (
            "system_create_node",
            json!({"hostname": "a", "template": "absent"}),
            "reference-unresolved",
            "first",
        ),
        ("system_update_instance", json!({"region": "a"}), "missing-argument", "the machine's id"),
        ("system_gitops_register_repository", json!({"repo_url": "ext::sh -c id"}), "", ""),
        (
            "system_gitops_register_repository",
            json!({"repo_url": "https://a.example/b", "auto_apply": true}),
            "unknown-argument",
            "",
        ),
    ] {
        let refused = tools.refused(tool, arguments.clone()).await;
        assert!(code.is_empty() || refused["code"] == code, "{tool} {arguments}: {refused}");
        let told = refused["help"].as_str().unwrap_or_default();
        assert!(told.contains(help), "{tool} {arguments}: {refused}");
    }
    let unknown = tools.ask("system_gitops_sync_repo", json!({})).await.unwrap_err().to_string();
    assert!(unknown.contains("unknown tool `system_gitops_sync_repo`"), "{unknown}");
}
