//! `windlass repo webhook`, with prepared responses.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod canned;
mod support;

use canned::Canned;
use serde_json::{Value, json};
use support::{stderr, stdout};

const WEBHOOK: &str = "/api/v1/system/gitops_repositories/fleet/webhook";

fn shown(text: &str) -> Value {
    json!({
        "webhook": {"url": format!("https://windlass.example.com/{text}"), "generation": 1,
            "last_delivery": {"at": "2026-11-16T00:32:26.000Z", "sender": "github", "event": "push", "outcome": text},
            "last_refusal": {"at": "2026-11-16T00:32:26.000Z", "address": "192.0.2.7", "reason": text}},
        "secret": format!("secret-{text}"), "signing_token": format!("whsec_{text}"),
        "setup": [{"forge": "github", "how": format!("go to {text}")}],
    })
}

#[test]
fn a_webhook_is_shown_with_its_secret_and_how_to_set_it_up() {
    let server = Canned::with(&[("GET", WEBHOOK, shown("github"))]);
    let output = server.run(&["repo", "webhook", "fleet"]);
    let told = stdout(&output);
    for part in [
        "https://windlass.example.com/github",
        "secret-github",
        "whsec_github",
        "go to github",
        "from github push: github",
        "from 192.0.2.7: github",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let output = server.run(&["repo", "webhook", "fleet", "-o", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&stdout(&output)).unwrap(), shown("github"));
    assert_eq!(
        server.run(&["repo", "webhook", "fleet", "--yes"]).status.code(),
        Some(64),
        "nothing to agree to"
    );
}

#[test]
fn a_secret_is_not_replaced_unless_someone_agrees() {
    let at = "2026-11-16T00:32:26.000Z";
    let repository = json!({"id": "one", "account_id": "acme", "name": "fleet", "repo_url": "https://x/y",
        "branch": "main", "path_prefix": "", "required_credential_keys": [], "has_ca": false,
        "requires_signature": false, "host_key_fingerprints": [], "enabled": true, "auto_apply": false,
        "reconcile_interval_seconds": 300, "status": "ok", "last_status": "success", "version": 1,
        "created_at": at, "updated_at": at});
    let server = Canned::with(&[
        ("GET", "/api/v1/system/gitops_repositories/fleet", json!({"gitops_repository": repository})),
        ("POST", "/api/v1/system/gitops_repositories/one/webhook/rotate", shown("new")),
    ]);
    let output = server.run(&["repo", "webhook", "fleet", "--rotate"]);
    assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
    assert!(stderr(&output).contains("--yes"), "{}", stderr(&output));
    assert!(server.requests().iter().all(|request| request.method == "GET"));
    let output = server.run(&["repo", "webhook", "fleet", "--rotate", "--yes"]);
    assert!(stdout(&output).contains("secret-new"), "{}", stderr(&output));
}

#[test]
fn hostile_text_in_a_webhook_never_reaches_the_terminal() {
    let server = Canned::with(&[("GET", WEBHOOK, shown("\u{1b}[2J\u{9b}31m\u{202e}evil\u{7}"))]);
    for form in ["human", "json", "yaml"] {
        let output = server.run(&["repo", "webhook", "fleet", "-o", form, "--color", "never"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!stdout(&output).chars().any(bad), "{:?}", stdout(&output));
    }
}
