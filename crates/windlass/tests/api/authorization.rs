//! Who may use which route: every route of the endpoint table, requested by everyone.

use std::collections::BTreeSet;
use std::time::Duration;

use jsonwebtoken::Algorithm;
use serde_json::Value;
use windlass_api::endpoint::{Access, Endpoint, Method, Operation, endpoints};
use windlass_api::permission::{Permission, Role};
use windlass_store::new_id;

use crate::harness::{ALL, Installation, Life, Person, Reply, now};

/// The route's path with ids of nothing.
fn absent(endpoint: &Endpoint) -> String {
    endpoint.path.replace("{id}", "absent")
}

fn name_of(endpoint: &Endpoint) -> String {
    format!("{} {}", endpoint.method.as_str(), endpoint.path)
}

/// Whether a route needs a signature, so that tokens make no difference.
fn asks_for_signature(endpoint: &Endpoint) -> bool {
    endpoint.operation == Operation::WebhookReceive
}

/// Tokens that are invalid, expired or revoked.
async fn bad_credentials(installation: &Installation) -> Vec<(&'static str, Option<String>)> {
    let admin = installation.admin().await;
    let ended = installation.session(&admin.id, &admin.account).await;
    installation.ask(&ended, "POST", "/api/v1/auth/logout").await.expect(204);
    let hour = Duration::from_secs(3600);
    let later = now().plus(hour);
    let sign = |key: &[u8], algorithm, audience: &str, expires_at| {
        installation.sign(key, algorithm, audience, &admin.id, &new_id(), expires_at)
    };
    let own = installation.key();
    let sound = &admin.token;
    let (head, rest) = sound.split_once('.').unwrap();
    let (claims, _) = rest.split_once('.').unwrap();
    let none = "eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0";
    let revoked = installation.api_token(&admin, &ALL, Life::Revoked).await;
    let expired = installation.api_token(&admin, &ALL, Life::Expired).await;
    let bearer = |token: &str| Some(format!("Bearer {token}"));
    vec![
        ("no token", None),
        ("an empty token", bearer("")),
        ("garbage", bearer("garbage")),
        ("garbage that looks like an API token", bearer("wlt_garbage")),
        ("a header without a scheme", Some(sound.clone())),
        ("another scheme", Some(format!("Basic {sound}"))),
        ("a JWT that expired", bearer(&sign(own, Algorithm::HS256, "windlass", now().minus(hour)))),
        ("a JWT of another key", bearer(&sign(b"another key", Algorithm::HS256, "windlass", later))),
        ("a JWT of another algorithm", bearer(&sign(own, Algorithm::HS512, "windlass", later))),
        ("a JWT for another audience", bearer(&sign(own, Algorithm::HS256, "others", later))),
        ("a JWT without a session", bearer(&sign(own, Algorithm::HS256, "windlass", later))),
        ("a JWT that says it needs no signature", bearer(&format!("{none}.{claims}."))),
        ("a JWT whose signature was cut off", bearer(&format!("{head}.{claims}."))),
        ("a session that ended", bearer(&ended)),
        ("an API token that was revoked", bearer(&revoked.secret)),
        ("an API token that expired", bearer(&expired.secret)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_good_token_only_public_routes_answer() {
    let installation = Installation::start().await;
    let credentials = bad_credentials(&installation).await;
    for endpoint in endpoints() {
        for (what, header) in &credentials {
            let mut request = installation.request(endpoint.method.as_str(), &absent(&endpoint));
            if let Some(header) = header {
                request = request.header("authorization", header);
            }
            let reply = installation.send(request).await;
            let at = format!("{} with {what}: {reply:?}", name_of(&endpoint));
            match endpoint.access {
                _ if asks_for_signature(&endpoint) => assert_eq!(reply.code(), "webhook-refused", "{at}"),
                Access::Public => assert!(reply.status != 401 && reply.status != 403, "{at}"),
                _ => {
                    assert_eq!((reply.status, reply.code().as_str()), (401, "unauthorized"), "{at}");
                    assert_eq!(reply.header("www-authenticate"), "Bearer", "{at}");
                }
            }
        }
    }
}

/// Whether the table grants access.
fn may(access: Access, permissions: &BTreeSet<Permission>, root: Rootness) -> bool {
    match access {
        Access::Public | Access::SignedIn => true,
        Access::Needs(permission) => permissions.contains(&permission),
        Access::Root => root == Rootness::Root,
        Access::Agent => false,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rootness {
    Root,
    NotRoot,
}

/// Requests a route as a person and compares with the table. Returns true if a change was refused, which must be in the
/// audit log.
async fn compare(
    installation: &Installation,
    endpoint: &Endpoint,
    token: &str,
    who: &str,
    is_allowed: bool,
) -> bool {
    let reply = installation.ask(token, endpoint.method.as_str(), &absent(endpoint)).await;
    let at = format!("{} as {who}: {reply:?}", name_of(endpoint));
    if !is_allowed {
        assert_eq!((reply.status, reply.code().as_str()), (403, "forbidden"), "{at}");
        return endpoint.method != Method::Get;
    }
    if asks_for_signature(endpoint) {
        assert_eq!((reply.status, reply.code().as_str()), (401, "webhook-refused"), "{at}");
        return false;
    }
    assert!(reply.status != 401 && reply.status != 403, "{at}");
    assert!(reply.status < 500, "{at}");
    false
}

async fn refusals(installation: &Installation, admin: &Person) -> usize {
    let (mut count, mut cursor) = (0, String::new());
    loop {
        let page = installation.get(admin, &format!("/api/v1/system/audit?limit=500{cursor}")).await;
        // Other requests were refused because their target does not exist.
        let refused = |entry: &&Value| entry["outcome"] == "refused" && entry["detail"]["status"] == 403;
        count += page["audit"].as_array().unwrap().iter().filter(refused).count();
        match page["meta"]["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return count,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_has_the_permissions_of_the_table_and_rejected_changes_are_audited() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut refused = 0;
    for role in Role::ALL {
        let person = installation.person(&installation.account, *role).await;
        for endpoint in endpoints() {
            let is_allowed = may(endpoint.access, &role.permissions(), Rootness::NotRoot);
            // A new session each time: one of the routes ends it.
            let token = installation.session(&person.id, &person.account).await;
            let was_refused = compare(&installation, &endpoint, &token, role.slug(), is_allowed).await;
            refused += usize::from(was_refused);
        }
    }
    assert!(refused > 50);
    assert_eq!(refusals(&installation, &admin).await, refused);
    let root = installation.root().await;
    for endpoint in endpoints() {
        let token = installation.session(&root.id, &root.account).await;
        let is_allowed = may(endpoint.access, &Role::Admin.permissions(), Rootness::Root);
        compare(&installation, &endpoint, &token, "root", is_allowed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_token_may_exactly_what_it_was_given_even_if_an_administrator_made_it() {
    let installation = Installation::start().await;
    let root = installation.root().await;
    for permission in Permission::ALL {
        let token = installation.api_token(&root, &[*permission], Life::Good).await;
        for endpoint in endpoints() {
            let given = BTreeSet::from([*permission]);
            let is_allowed = may(endpoint.access, &given, Rootness::NotRoot)
                && endpoint.operation.forbidden_for_tokens().is_none();
            compare(&installation, &endpoint, &token.secret, permission.slug(), is_allowed).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_still_has_a_one_time_password_may_only_choose_their_own() {
    let installation = Installation::start().await;
    let person = installation.admin().await;
    let mut writing = installation.store.write().await.unwrap();
    let hash = windlass_core::redacted::Redacted::new("none".to_owned());
    writing.user_set_password(&person.id, &hash, true).await.unwrap();
    writing.commit().await.unwrap();
    let still = ["/api/v1/auth/password", "/api/v1/auth/me", "/api/v1/auth/logout"];
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.access != Access::Public) {
        let token = installation.session(&person.id, &person.account).await;
        let reply = installation.ask(&token, endpoint.method.as_str(), &absent(&endpoint)).await;
        let is_open = still.contains(&endpoint.path.as_str());
        assert_eq!(reply.status != 403, is_open, "{}: {reply:?}", name_of(&endpoint));
        assert!(is_open || reply.code() == "password-change-required", "{reply:?}");
    }
}

/// Checks that a response reveals nothing: a stranger gets the same from any address.
fn check_reveals_nothing(reply: &Reply, at: &str) {
    assert!(reply.status == 404 || reply.status == 405, "{at}: {reply:?}");
    assert!(!reply.text.contains("example.com") && !reply.text.contains("acme"), "{at}: {reply:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outside_the_table_answers_and_odd_methods_tell_nothing() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let table = endpoints();
    for path in [
        "/api",
        "/api/v1",
        "/api/v1/system",
        "/api/v1/auth",
        "/api/v2/system/status",
        "/admin",
        "/debug/pprof",
        "/.env",
        "/.git/config",
        "/api/v1/system/nodes/",
        "/API/v1/system/nodes",
        "/api/v1/system//nodes",
        "/api/v1/system/nodes/../../auth/users",
        "/api/v1/system/nodes/%2e%2e/users",
        "/metrics/",
        "/healthz/x",
        "/api/v1/system/settings",
        "/api/v1/auth/sessions",
        "/api/v1/auth/login/",
        "/index.html",
    ] {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QQQ"]
        {
            let reply = installation.ask(&admin.token, method, path).await;
            // Clients normalise dots before they send.
            let is_route =
                table.iter().any(|endpoint| path.contains("..") && endpoint.path.ends_with("users"));
            assert!(is_route || reply.status == 404 || reply.status == 405, "{method} {path}: {reply:?}");
        }
    }
    for endpoint in &table {
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "GETX"] {
            if table.iter().any(|other| other.path == endpoint.path && other.method.as_str() == method) {
                continue;
            }
            if method == "CONNECT" {
                continue;
            }
            let reply = installation.ask("", method, &absent(endpoint)).await;
            check_reveals_nothing(&reply, &format!("{method} {}", endpoint.path));
            let reply = installation.ask(&admin.token, method, &absent(endpoint)).await;
            check_reveals_nothing(&reply, &format!("{method} {}", endpoint.path));
        }
        if endpoint.method == Method::Get && endpoint.access != Access::Public {
            let head = installation.ask("garbage", "HEAD", &absent(endpoint)).await;
            assert_eq!((head.status, head.text.as_str()), (401, ""), "HEAD {}", endpoint.path);
        }
    }
}
