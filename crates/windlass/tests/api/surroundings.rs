//! The headers of every response, the endpoints for machines, and the OpenAPI document.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use windlass_api::endpoint::endpoints;

use crate::harness::Installation;

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_an_id_and_protects_whoever_reads_it() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    for (path, token) in [
        ("/healthz", ""),
        ("/nowhere", ""),
        ("/api/v1/system/status", ""),
        ("/api/v1/system/status", &*admin.token),
    ] {
        let reply = installation.ask(token, "GET", path).await;
        assert!(!reply.header("x-request-id").is_empty(), "{path}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        assert_eq!(reply.header("cache-control"), "no-store");
        assert_eq!(reply.header("x-frame-options"), "DENY");
        assert!(reply.header("content-security-policy").contains("default-src 'none'"));
        assert_eq!(reply.header("access-control-allow-origin"), "");
        assert_eq!(reply.header("server"), "");
    }
    let ask = async |id: &str| {
        let request = installation.request("GET", "/healthz").header("x-request-id", id);
        installation.send(request).await.header("x-request-id").to_owned()
    };
    assert_eq!(ask("my-request-17").await, "my-request-17");
    for harmful in ["a b", "<script>", &"x".repeat(65), "a\"b", "a,b"] {
        assert_ne!(ask(harmful).await, harmful);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_id_leads_to_the_audit_entry() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let request = installation.request("POST", "/api/v1/system/clusters").bearer_auth(&admin.token);
    installation
        .send(request.header("x-request-id", "find-me").json(&json!({"name": "one"})))
        .await
        .expect(201);
    let audit = installation.get(&admin, "/api/v1/system/audit?target=cluster/one").await;
    let entry = &audit["audit"][0];
    assert_eq!((&entry["request_id"], &entry["actor"]), (&json!("find-me"), &json!(admin.email)));
    assert_eq!(entry["address"], "127.0.0.1");
    assert_eq!(installation.get(&admin, "/api/v1/system/audit/verify").await["intact"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_learn_how_it_is_and_no_names() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    installation.make_cluster(&admin, "a-telling-name").await.expect(201);
    installation.ask(&admin.token, "MADEUP", "/api/v1/system/clusters").await;
    installation.ask(&admin.token, "GET", "/a-path-of-my-own").await;
    installation.ask("", "GET", "/healthz").await.expect(200);
    installation.ask("", "GET", "/readyz").await.expect(200);
    let metrics = installation.ask("", "GET", "/metrics").await;
    assert_eq!(metrics.status, 200);
    assert!(metrics.header("content-type").starts_with("text/plain"));
    assert!(metrics.text.contains("windlass_http_requests_total"));
    for line in metrics.text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let name = series.split('{').next().unwrap();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':'), "{line}");
        assert!(!series.contains('{') || series.ends_with('}'), "{line}");
    }
    for word in ["acme", "telling", "example.com", "MADEUP", "my-own", admin.account.as_str()] {
        assert!(!metrics.text.contains(word), "{word}");
    }
}

/// Every operation of the document.
fn operations(document: &Value) -> Vec<(String, String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, methods)| {
            let of = |(method, operation)| (path.clone(), String::clone(method), operation);
            methods.as_object().unwrap().iter().map(of)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_describes_every_route_and_is_the_one_in_the_repository() {
    let installation = Installation::start().await;
    let document = installation.ask("", "GET", "/api/openapi.json").await.expect(200);
    let text = serde_json::to_string_pretty(&document).unwrap() + "\n";
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../windlass-api/openapi.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    let is_current = std::fs::read_to_string(&golden).unwrap_or_default() == text;
    assert!(
        is_current,
        "windlass-api/openapi.json is not current; UPDATE_GOLDEN=1 rewrites it if that is right"
    );

    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    for key in ["title", "version"] {
        assert!(document["info"][key].is_string());
    }
    let described: BTreeSet<(String, String)> =
        operations(&document).into_iter().map(|(path, method, _)| (path, method)).collect();
    let routes: BTreeSet<(String, String)> = endpoints()
        .into_iter()
        .map(|endpoint| (endpoint.path.clone(), endpoint.method.as_str().to_lowercase()))
        .collect();
    assert_eq!(described, routes);
    let mut ids = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let at = format!("{method} {path}");
        assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{at}");
        assert!(operation["summary"].as_str().is_some_and(|text| text.ends_with('.')), "{at}");
        assert!(operation["responses"].as_object().is_some_and(|responses| !responses.is_empty()), "{at}");
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
        assert_eq!(in_path, path.matches('{').count(), "{at}");
        assert!(parameters.iter().all(|parameter| parameter["schema"].is_object()), "{at}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_what_the_document_says() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    installation.make_cluster(&admin, "one").await.expect(201);
    let document = installation.ask("", "GET", "/api/openapi.json").await.expect(200);
    let mut checked = 0;
    for (path, method, operation) in operations(&document) {
        let schema = operation["responses"]["2XX"]["content"]["application/json"]["schema"].clone();
        let path = match path.as_str() {
            "/api/v1/system/clusters/{id}" => "/api/v1/system/clusters/one",
            path => path,
        };
        // One is for another administrator, one needs a Vault, and those of agents are on a listener of their own.
        let is_elsewhere = ["/api/v1/auth/accounts", "/api/v1/system/vault_credentials"].contains(&path);
        let is_elsewhere = is_elsewhere || path.starts_with("/agent/");
        if method != "get" || path.contains('{') || schema.is_null() || is_elsewhere {
            continue;
        }
        let mut schema = schema;
        schema["components"] = document["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let body = installation.get(&admin, path).await;
        let problems: Vec<String> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{path}: {problems:?} in {body}");
        checked += 1;
    }
    assert!(checked > 20, "{checked}");
}
