//! An export contains hidden values only with the permission for that, and a masked export is never accepted as a
//! fleet.

use serde_json::{Value, json};
use windlass_api::permission::{Permission, Role};

use crate::harness::{ALL, Installation, Life, Person, Reply, fleet};

const EXPORT: &str = "/api/v1/system/export_fleet_yaml";
const SECRET: &str = "canary-export-secret-6Wd";

/// Creates accepted resources with secrets: two under keys, one in a URL.
async fn with_secrets(at: &Installation, admin: &Person) {
    let config =
        json!({"db_password": SECRET, "port": 5432, "url": format!("https://app:{SECRET}@db.example/x")});
    let module = json!({"name": "db", "config": config});
    at.tell(&admin.token, "POST", "/api/v1/system/node_modules", &module).await.expect(201);
    let more = json!({"name": "web", "config": {"api_token": SECRET}});
    at.tell(&admin.token, "POST", "/api/v1/system/node_modules", &more).await.expect(201);
}

async fn export(at: &Installation, token: &str, query: &str) -> Reply {
    at.ask(token, "GET", &format!("{EXPORT}{query}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn exporting_hidden_values_needs_its_own_permission_and_is_audited() {
    let at = Installation::start().await;
    let admin = at.admin().await;
    with_secrets(&at, &admin).await;
    for role in Role::ALL {
        let person = at.person(&at.account, *role).await;
        let masked = export(&at, &person.token, "").await;
        assert_eq!(masked.status, 200);
        assert!(!masked.text.contains(SECRET), "{role}: {}", masked.text);
        assert!(masked.text.contains("# 3 values are masked as (hidden)"), "{}", masked.text);
        assert!(
            masked.text.contains("--show-secrets") && masked.text.contains("port: 5432"),
            "{}",
            masked.text
        );
        let shown = export(&at, &person.token, "?secrets=show").await;
        assert_eq!(shown.status == 200, *role == Role::Admin, "{role}");
        assert_eq!(shown.text.contains(SECRET), *role == Role::Admin, "{role}");
    }
    // A token needs that permission itself, whatever its owner may do.
    let most: Vec<Permission> =
        ALL.iter().copied().filter(|permission| *permission != Permission::FleetExportSecrets).collect();
    let token = at.api_token(&admin, &most, Life::Good).await;
    assert_eq!(export(&at, &token.secret, "?secrets=show").await.status, 403);
    let granted = [Permission::FleetRead, Permission::FleetExportSecrets];
    let token = at.api_token(&admin, &granted, Life::Good).await;
    let shown = export(&at, &token.secret, "?secrets=show&form=map").await;
    assert!(shown.text.contains(SECRET) && !shown.text.contains("(hidden)"), "{}", shown.text);
    assert_eq!(export(&at, &token.secret, "?secrets=yes").await.status, 400);

    let log = at.get(&admin, "/api/v1/system/audit?limit=500").await;
    let entries: Vec<&Value> = log["audit"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["action"] == "fleet.export_secrets")
        .collect();
    assert_eq!(entries.len(), 2, "those who saw them: {entries:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_masked_export_is_rejected_as_a_fleet_and_changes_nothing() {
    let at = Installation::start().await;
    let admin = at.admin().await;
    with_secrets(&at, &admin).await;
    let masked = export(&at, &admin.token, "").await.text;
    let work = fleet(&masked);
    let repository = at.register(&admin, "restored", &work).await;
    let run = at.sync(&admin, &repository).await;
    assert_eq!((&run["status"], &run["diff_count"]), (&json!("failed"), &json!(0)), "{run}");
    let codes: Vec<&str> =
        run["problems"].as_array().unwrap().iter().filter_map(|problem| problem["code"].as_str()).collect();
    assert_eq!(codes.iter().filter(|code| **code == "masked-value").count(), 3, "{run}");
    let body = json!({"name": "new", "config": {"db_password": "(hidden)"}});
    assert_eq!(at.tell(&admin.token, "POST", "/api/v1/system/node_modules", &body).await.status, 422);

    // The full export rebuilds the fleet.
    let shown = export(&at, &admin.token, "?secrets=show").await.text;
    work.commit("fleet.yaml", &shown);
    let run = at.sync(&admin, &repository).await;
    assert_ne!(run["status"], "failed", "{run}");
    assert!(!run.to_string().contains(SECRET));
}
