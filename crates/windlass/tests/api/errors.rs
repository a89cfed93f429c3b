//! Every error has the one format, the right status, and repeats nothing that was sent by mistake.

use serde_json::json;

use crate::harness::{Installation, Reply};

const NODES: &str = "/api/v1/system/nodes";

/// Checks the format and returns status and code.
fn shape(reply: &Reply, at: &str) -> (u16, String) {
    assert_eq!(reply.header("content-type"), "application/json", "{at}: {reply:?}");
    let error = &reply.json()["error"];
    for key in ["code", "message", "request_id"] {
        assert!(error[key].as_str().is_some_and(|text| !text.is_empty()), "{at}: no {key} in {reply:?}");
    }
    assert!(error["details"].is_array(), "{at}: {reply:?}");
    assert_eq!(error["request_id"], reply.header("x-request-id"), "{at}");
    (reply.status, reply.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_error_has_the_one_shape() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let cases: &[(&str, &str, &[u8], u16)] = &[
        ("GET", "/nowhere", b"", 404),
        ("GET", "/api/v1/system/nodes/absent", b"", 404),
        ("PUT", "/healthz", b"", 405),
        ("DELETE", NODES, b"", 405),
        ("POST", NODES, b"{", 400),
        ("POST", NODES, b"{\"hostname\": }", 400),
        ("POST", NODES, b"nonsense", 400),
        ("POST", NODES, b"\"text\"", 422),
        ("POST", NODES, b"[]", 422),
        ("POST", NODES, b"null", 422),
        ("POST", NODES, b"{}", 422),
        ("POST", NODES, b"{\"hostname\": \"\xff\xfe\"}", 400),
        ("POST", NODES, b"{\"hostname\": \"a\\u0000b\"}", 400),
        ("POST", NODES, b"{\"hostname\": \"a b\"}", 422),
        ("POST", NODES, b"{\"hostname\": \"a\", \"no_such_field\": 1}", 422),
        ("POST", NODES, b"{\"hostname\": \"a\", \"template\": \"absent\"}", 422),
        ("POST", "/api/v1/system/gitops_repositories", b"{\"repo_url\": \"https://example.com/x\"}", 400),
        ("POST", "/api/v1/system/gitops_repositories", b"{\"gitops_repository\": {\"nam\": 1}}", 400),
        ("POST", "/api/v1/system/gitops_repositories", b"{\"gitops_repository\": {}}", 422),
        ("POST", "/api/v1/system/proposals/batch", b"{\"decision\": \"maybe\", \"ids\": [\"x\"]}", 400),
        ("POST", "/api/v1/system/proposals/batch", b"{\"decision\": \"approve\"}", 400),
        ("PUT", "/api/v1/system/approval_policy", b"{\"policy\": {\"rules\": [{\"nonsense\": 1}]}}", 422),
        ("PUT", "/api/v1/system/approval_policy", b"{\"policy\": \"rules: [\"}", 422),
        ("GET", "/api/v1/system/nodes/%FF", b"", 400),
        ("GET", "/api/v1/system/nodes/a%00b", b"", 400),
        ("GET", "/api/v1/system/nodes?q=%00", b"", 400),
        ("GET", "/api/v1/system/nodes?limit=x", b"", 400),
        ("GET", "/api/v1/system/resources?kind=x", b"", 400),
        ("GET", "/api/v1/system/proposals?status=x", b"", 400),
        ("GET", "/api/v1/system/fleet_events?after=x", b"", 400),
        ("GET", "/api/v1/system/fleet_events?severity=x", b"", 400),
        ("GET", "/api/v1/system/fleet_events?resource=x", b"", 400),
        ("GET", "/api/v1/system/export_fleet_yaml?form=x", b"", 400),
        ("GET", "/api/v1/system/gitops_sync_runs/absent?wait=-1", b"", 400),
        ("GET", "/api/v1/system/gitops_sync_runs/absent?wait=99999999999999999999999", b"", 400),
        ("POST", "/api/v1/auth/login", b"{\"email\": 1}", 400),
        ("POST", "/api/v1/auth/login", b"{\"email\": \"a@b\", \"password\": \"x\"}", 401),
        ("POST", "/api/v1/auth/users", b"{\"email\": \"nobody\", \"role\": \"viewer\"}", 422),
        ("POST", "/api/v1/auth/users", b"{\"email\": \"a@b\", \"role\": \"king\"}", 400),
        ("POST", "/api/v1/auth/tokens", b"{\"name\": \"\"}", 422),
        ("POST", "/api/v1/auth/tokens", b"{\"name\": \"x\", \"expires_in_days\": 0}", 422),
        ("POST", "/api/v1/auth/tokens", b"{\"name\": \"x\", \"expires_in_days\": 999}", 422),
        ("POST", "/api/v1/auth/tokens", b"{\"name\": \"x\", \"permissions\": [\"all\"]}", 400),
    ];
    for (method, path, body, status) in cases {
        let request = installation.request(method, path).bearer_auth(&admin.token).body(body.to_vec());
        let reply = installation.send(request).await;
        let at = format!("{method} {path} {}", String::from_utf8_lossy(body));
        assert_eq!(shape(&reply, &at).0, *status, "{at}: {reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_too_large_or_too_deep_are_refused() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let send = async |body: String, key: Option<&str>| {
        let mut request = installation.request("POST", NODES).bearer_auth(&admin.token).body(body);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        installation.send(request).await
    };
    let large = json!({"hostname": "a", "labels": {"x": "y".repeat(1024 * 1024)}}).to_string();
    assert_eq!(shape(&send(large.clone(), None).await, "large").0, 413);
    assert_eq!(shape(&send(large, Some("key")).await, "large with a key").0, 413);
    let huge = " ".repeat(3 * 1024 * 1024);
    assert_eq!(shape(&send(huge, Some("other")).await, "huge with a key").0, 413);
    let deep = format!("{{\"hostname\": {}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(shape(&send(deep, None).await, "deep").0, 400);
    let nested = format!("{{\"hostname\": \"a\", \"config\": {}1{}}}", "{\"a\":".repeat(90), "}".repeat(90));
    let status = shape(&send(nested, None).await, "nested").0;
    assert!(status == 400 || status == 422, "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_json_whatever_its_content_type_says() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    for (name, content_type) in
        [("one", None), ("two", Some("text/plain")), ("three", Some("application/json; x=y"))]
    {
        let mut request = installation.request("POST", "/api/v1/system/clusters").bearer_auth(&admin.token);
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        installation.send(request.body(json!({"name": name}).to_string())).await.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_error_repeats_a_value_that_was_sent_by_mistake() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let planted = "planted-7Qx9";
    let number = 770_099_117_700_u64;
    let cases = [
        ("POST", "/api/v1/auth/login", json!({"email": "a@b", "password": [planted]})),
        ("POST", "/api/v1/auth/login", json!({"email": "a@b", "password": number})),
        ("POST", "/api/v1/auth/login", json!(planted)),
        ("POST", "/api/v1/auth/users", json!({"email": "a@b", "role": planted})),
        ("POST", "/api/v1/auth/tokens", json!({"name": "x", "permissions": [planted]})),
        ("POST", "/api/v1/auth/password", json!({"current_password": planted, "new_password": number})),
        ("POST", "/api/v1/auth/password", json!({"current_password": planted, "new_password": "short"})),
        ("POST", "/api/v1/system/gitops_repositories", json!({"gitops_repository": planted})),
        ("POST", "/api/v1/system/gitops_repositories", json!({"gitops_repository": {"enabled": planted}})),
        (
            "POST",
            "/api/v1/system/gitops_repositories",
            json!({"gitops_repository":
            {"name": "x", "repo_url": "https://example.com/x", "allowed_signers": planted}}),
        ),
        ("PUT", "/api/v1/system/approval_policy", json!({"policy": {"rules": [{"password": planted}]}})),
        (
            "POST",
            "/api/v1/system/node_modules",
            json!({"name": "x", "config": {"password": [planted]},
            "priority": "high"}),
        ),
        (
            "POST",
            "/api/v1/system/node_modules",
            json!({"name": "x", "host": {"files":
            {"/etc/x": {"content": "a", "password": planted}}}}),
        ),
    ];
    for (method, path, body) in cases {
        let reply = installation.tell(&admin.token, method, path, &body).await;
        assert!((400..500).contains(&reply.status), "{path} {body}: {reply:?}");
        assert!(!reply.text.contains(planted) && !reply.text.contains("770099117700"), "{path}: {reply:?}");
    }
}
