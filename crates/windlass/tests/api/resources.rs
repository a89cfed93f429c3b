//! Direct changes: every kind is created, read, changed, replaced and deleted, in the formats of the documentation.

use serde_json::{Value, json};

use crate::harness::{FLEET, Installation, Person, fleet};

struct Case {
    path: &'static str,
    singular: &'static str,
    name: &'static str,
    payload: Value,
    patch: Value,
}

/// One of each kind, in the order of their dependencies.
fn cases() -> Vec<Case> {
    let case = |path, singular, name, payload, patch| Case { path, singular, name, payload, patch };
    vec![
        case(
            "node_templates",
            "node_template",
            "base",
            json!({"name": "base", "node_platform": "ubuntu-24.04-amd64", "modules": ["chrony@live"]}),
            json!({"description": "changed"}),
        ),
        case(
            "node_modules",
            "node_module",
            "web",
            json!({"name": "web", "priority": 50, "config": {"workers": 4, "extra": 1}}),
            json!({"priority": 60}),
        ),
        case(
            "nodes",
            "node",
            "edge-01",
            json!({"hostname": "edge-01", "template": "base", "region": "eu", "labels": {"a": "1", "b": "2"}}),
            json!({"region": "us"}),
        ),
        case(
            "instances",
            "instance",
            "edge-02",
            json!({"hostname": "edge-02", "template": "base"}),
            json!({"instance_type": "t3-large"}),
        ),
        case(
            "node_module_assignments",
            "node_module_assignment",
            "edge-01:web",
            json!({"node": "edge-01", "module": "web", "enabled": true}),
            json!({"enabled": false}),
        ),
        case(
            "sdwan/networks",
            "network",
            "fabric",
            json!({"name": "fabric"}),
            json!({"routing_mode": "ibgp"}),
        ),
        case(
            "sdwan/peers",
            "peer",
            "fabric/edge-01",
            json!({"network": "fabric", "host": "edge-01"}),
            json!({"publicly_reachable": true}),
        ),
        case(
            "sdwan/virtual_ips",
            "virtual_ip",
            "fabric/front",
            json!({"network": "fabric", "name": "front", "primary_holder": "edge-01"}),
            json!({"protect": true}),
        ),
        case(
            "federation/peers",
            "federation_peer",
            "eu",
            json!({"name": "eu", "url": "https://eu.example.com", "trust": format!("sha256:{}", "a".repeat(64))}),
            json!({"url": "https://eu2.example.com"}),
        ),
        case("clusters", "cluster", "prod", json!({"name": "prod"}), json!({"labels": {"env": "prod"}})),
        case(
            "cluster_groups",
            "cluster_group",
            "all",
            json!({"name": "all", "selector": {"matchLabels": {"env": "prod"}}}),
            json!({"protect": true}),
        ),
        case(
            "bundles",
            "bundle",
            "cert-manager",
            json!({"name": "cert-manager", "targets": [{"cluster_group": "all"}],
                "chart": {"repository": "https://charts.example.com", "name": "cert-manager", "version": "1.16.2"}}),
            json!({"prune": false}),
        ),
        case(
            "notification_providers",
            "notification_provider",
            "team-chat",
            json!({"name": "team-chat", "type": "slack", "credential_path": "notifications/team-chat"}),
            json!({"channel": "#operations"}),
        ),
        case(
            "alerts",
            "alert",
            "failures",
            json!({"name": "failures", "providers": ["team-chat"], "events": ["gitops.*failed"]}),
            json!({"severity": "high"}),
        ),
    ]
}

fn one(case: &Case) -> String {
    let name = case.name.replace('/', "%2F").replace(':', "%3A");
    format!("/api/v1/system/{}/{name}", case.path)
}

async fn walk(installation: &Installation, admin: &Person, case: &Case) {
    let all = format!("/api/v1/system/{}", case.path);
    let made = installation.tell(&admin.token, "POST", &all, &case.payload).await;
    let made = made.expect(201)[case.singular].clone();
    assert_eq!(made["name"], case.name);
    let again = installation.tell(&admin.token, "POST", &all, &json!({case.singular: case.payload})).await;
    assert_eq!((again.status, again.code().as_str()), (409, "taken"), "{again:?}");
    let shown = installation.get(admin, &one(case)).await[case.singular].clone();
    assert_eq!(shown, made, "{}", case.path);
    let by_id = installation.get(admin, &format!("{all}/{}", made["id"].as_str().unwrap())).await;
    assert_eq!(by_id[case.singular], made);
    let changed = installation.tell(&admin.token, "PATCH", &one(case), &case.patch).await.expect(200);
    let changed = &changed[case.singular];
    for (key, value) in case.patch.as_object().unwrap() {
        assert_eq!(&changed["spec"][key], value, "{}", case.path);
    }
    assert_eq!(changed["generation"], 2);
    assert_eq!(changed["updated_by"], admin.email.as_str());
    let replaced = installation.tell(&admin.token, "PUT", &one(case), &json!({case.singular: made})).await;
    assert_eq!(replaced.expect(200)[case.singular]["digest"], made["digest"], "{}", case.path);
    let wrong = installation.tell(&admin.token, "PATCH", &one(case), &json!({"no_such_field": 1})).await;
    assert_eq!(wrong.status, 422, "{wrong:?}");
    let renamed = installation.tell(&admin.token, "PATCH", &one(case), &json!({"name": "x/y:z"})).await;
    assert_eq!(renamed.status, 422, "{renamed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_noun_is_made_shown_changed_replaced_and_deleted() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    for case in cases() {
        walk(&installation, &admin, &case).await;
    }
    let used = installation.ask(&admin.token, "DELETE", "/api/v1/system/node_templates/base").await;
    assert_eq!((used.status, used.code().as_str()), (409, "referenced"), "{used:?}");
    for case in cases().iter().rev() {
        installation.ask(&admin.token, "DELETE", &one(case)).await.expect(204);
        assert_eq!(installation.ask(&admin.token, "GET", &one(case)).await.status, 404);
    }
    let left = installation.get(&admin, "/api/v1/system/resources").await;
    assert_eq!(left["resources"], json!([]));
    let audit = installation.get(&admin, "/api/v1/system/audit?target=node/edge-01").await;
    let actions: Vec<&str> =
        audit["audit"].as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["resource.delete", "resource.update", "resource.update", "resource.create"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_merges_and_null_takes_away() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let body =
        json!({"name": "web", "config": {"a": 1, "b": {"c": 2, "d": 3}, "list": [1, 2]}, "priority": 7});
    installation.tell(&admin.token, "POST", "/api/v1/system/node_modules", &body).await.expect(201);
    let path = "/api/v1/system/node_modules/web";
    let patch = json!({"config": {"b": {"c": 9}, "a": null, "list": [3]}, "priority": null});
    let changed = installation.tell(&admin.token, "PATCH", path, &patch).await.expect(200);
    let spec = &changed["node_module"]["spec"];
    assert_eq!(spec["config"], json!({"b": {"c": 9, "d": 3}, "list": [3]}));
    assert_ne!(spec["priority"], 7, "it is the default again");
    let generation = changed["node_module"]["generation"].clone();
    let same = installation.tell(&admin.token, "PATCH", path, &json!({})).await.expect(200);
    assert_eq!(same["node_module"]["generation"], generation, "no change is no change");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_protected_or_referred_to_is_not_deleted() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let cluster = json!({"name": "prod", "protect": true});
    installation.tell(&admin.token, "POST", "/api/v1/system/clusters", &cluster).await.expect(201);
    let path = "/api/v1/system/clusters/prod";
    let refused = installation.ask(&admin.token, "DELETE", path).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "protected"));
    installation.tell(&admin.token, "PATCH", path, &json!({"protect": false})).await.expect(200);
    installation.ask(&admin.token, "DELETE", path).await.expect(204);
    let dangling = json!({"hostname": "n", "template": "absent"});
    let refused = installation.tell(&admin.token, "POST", "/api/v1/system/nodes", &dangling).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "reference-unresolved"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_by_hand_keeps_its_owner_and_shows_as_drift() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    installation.apply_all(&admin, &run).await;
    let path = "/api/v1/system/nodes/edge-01";
    let changed = installation.tell(&admin.token, "PATCH", path, &json!({"region": "us"})).await.expect(200);
    assert_eq!(changed["node"]["owner"]["repository_id"], repository.as_str());
    let report = format!("/api/v1/system/gitops_repositories/{repository}/drift_report");
    let report = installation.get(&admin, &report).await;
    assert_eq!(report["drift"], true, "{report}");
    let item = &report["drifted"][0];
    assert_eq!((&item["name"], &item["changed_by"]), (&json!("edge-01"), &json!(admin.email)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hidden_in_an_answer_survives_being_sent_back() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let body = json!({"name": "web", "config": {"db_password": "planted-secret", "workers": 1}});
    installation.tell(&admin.token, "POST", "/api/v1/system/node_modules", &body).await.expect(201);
    let path = "/api/v1/system/node_modules/web";
    let mut shown = installation.get(&admin, path).await;
    assert_eq!(shown["node_module"]["spec"]["config"]["db_password"], "(hidden)");
    let digest = shown["node_module"]["digest"].clone();
    let same = installation.tell(&admin.token, "PUT", path, &shown).await.expect(200);
    assert_eq!(same["node_module"]["digest"], digest);
    shown["node_module"]["spec"]["config"]["workers"] = json!(2);
    installation.tell(&admin.token, "PUT", path, &shown).await.expect(200);
    let whole = "/api/v1/system/export_fleet_yaml?secrets=show";
    let exported = installation.ask(&admin.token, "GET", whole).await;
    assert!(exported.text.contains("planted-secret"), "{exported:?}");
    let copy = json!({"name": "other", "config": {"db_password": "(hidden)"}});
    let refused = installation.tell(&admin.token, "POST", "/api/v1/system/node_modules", &copy).await;
    assert_eq!(refused.status, 422, "{refused:?}");
}
