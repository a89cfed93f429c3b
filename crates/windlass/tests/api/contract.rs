//! The runbook works as printed, and invalid registrations are rejected with the reason.

use serde_json::{Value, json};
use windlass_testkit::servers::WorkTree;

use crate::harness::{FLEET, Installation, Person, config, file_url, fleet};

const REPOSITORIES: &str = "/api/v1/system/gitops_repositories";

/// Sends what `curl` sends: its default headers, and the body unchanged.
async fn curl(
    installation: &Installation,
    person: &Person,
    method: &str,
    path: &str,
    body: Option<&str>,
) -> Value {
    let mut request = installation.request(method, path).bearer_auth(&person.token).header("accept", "*/*");
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body.to_owned());
    }
    let reply = installation.send(request).await;
    assert!((200..300).contains(&reply.status), "{reply:?}");
    if reply.text.is_empty() { Value::Null } else { reply.json() }
}

/// A server with the runbook's credential.
async fn runbook_server() -> Installation {
    let directory = tempfile::tempdir().unwrap();
    let credential = directory.path().join("credentials/secret/data/powernode/gitops/fleet-deploy-key");
    std::fs::create_dir_all(&credential).unwrap();
    let mut config = config(directory.path());
    config.control.credentials = windlass_server::credentials_in(&directory.path().join("credentials"));
    Installation::start_with(directory, config).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runbook_works_as_printed() {
    let installation = runbook_server().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let body = r#"{
    "gitops_repository": {
      "name": "fleet-config",
      "repo_url": "URL",
      "branch": "main",
      "vault_credential_path": "secret/data/powernode/gitops/fleet-deploy-key",
      "path_prefix": "",
      "enabled": true,
      "auto_apply": false
    }
  }"#;
    let body = body.replace("URL", &file_url(&work));
    let made = curl(&installation, &admin, "POST", REPOSITORIES, Some(&body)).await;
    let repository = &made["gitops_repository"];
    assert_eq!(repository["name"], "fleet-config");
    assert_eq!(repository["status"], "syncing");
    let one = format!("{REPOSITORIES}/{}", repository["id"].as_str().unwrap());

    let synced = curl(&installation, &admin, "POST", &format!("{one}/sync_now"), None).await;
    let id = synced["sync_run"]["id"].as_str().unwrap();
    let show = format!("/api/v1/system/gitops_sync_runs/{id}");
    let run = curl(&installation, &admin, "GET", &format!("{show}?wait=60"), None).await;
    assert_eq!(run["status"], "diff_ready", "{run}");
    assert_eq!(run["sync_run"]["status"], "diff_ready");
    assert_eq!(run["requires_approval"], true);
    assert_eq!(run["diff"]["nodes"]["add"], json!(["edge-01", "edge-02"]));
    assert_eq!(run["diff"]["sdwan"]["networks"]["add"], json!(["fabric"]));
    let first = &run["proposals"][0];
    assert_eq!((&first["action"], &first["status"]), (&json!("create_template"), &json!("pending_approval")));
    assert_eq!(first["payload"]["name"], "edge-base");

    let applied = installation.apply_all(&admin, &run).await;
    assert_eq!(applied["status"], "applied", "{applied}");
    assert_eq!(applied["failed_actions"], json!([]));
    assert_eq!(
        applied["applied_actions"].as_array().unwrap().len(),
        run["proposals"].as_array().unwrap().len()
    );

    curl(&installation, &admin, "DELETE", &one, None).await;
    assert_eq!(installation.ask(&admin.token, "GET", &one).await.status, 404);
    let left = installation.get(&admin, "/api/v1/system/nodes/edge-01").await;
    assert_eq!(left["node"]["owner"], Value::Null, "what it owned stays, owned by nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_changed_tested_and_listed() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let id = installation.register(&admin, "fleet", &work).await;
    let one = format!("{REPOSITORIES}/{id}");
    let body = json!({"gitops_repository": {"reconcile_interval_seconds": 60, "auto_apply": true}});
    let changed = installation.tell(&admin.token, "PATCH", &one, &body).await.expect(200);
    assert_eq!(changed["gitops_repository"]["reconcile_interval_seconds"], 60);
    assert_eq!(changed["gitops_repository"]["name"], "fleet", "what is left out stays");
    let by_name = installation.get(&admin, &format!("{REPOSITORIES}/fleet")).await;
    assert_eq!(by_name["gitops_repository"]["id"], id.as_str());
    let tested = installation.ask(&admin.token, "POST", &format!("{one}/test")).await.expect(200);
    assert_eq!(tested["ok"], true, "{tested}");
    let again = json!({"gitops_repository": {"name": "fleet", "repo_url": file_url(&work)}});
    let taken = installation.tell(&admin.token, "POST", REPOSITORIES, &again).await;
    assert_eq!((taken.status, taken.code().as_str()), (409, "taken"));
    let listed = installation.get(&admin, REPOSITORIES).await;
    assert_eq!(listed["gitops_repositories"].as_array().unwrap().len(), 1);
    installation.sync(&admin, &id).await;
    let runs = installation.get(&admin, &format!("{one}/sync_runs")).await;
    assert_eq!(runs["sync_runs"].as_array().unwrap().len(), 1);
    let drift = installation.get(&admin, &format!("{one}/drift_report")).await;
    assert_eq!(drift["drift"], false, "{drift}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_must_not_be_registered_is_refused_with_the_reason() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let fine = "https://git.example.com/fleet.git";
    let url = |url: &str| json!({"name": "fleet", "repo_url": url});
    let with = |key: &str, value: Value| {
        let mut fields = url(fine);
        fields[key] = value;
        fields
    };
    let cases = [
        (url("https://user:hunter2hunter2@git.example.com/fleet.git"), "repo_url"),
        (url("https://hunter2hunter2@git.example.com/fleet.git"), "repo_url"),
        (json!({"repo_url": "https://user:hunter2hunter2@git.example.com"}), "repo_url"),
        (url("ssh://git:hunter2hunter2@git.example.com/fleet.git"), "repo_url"),
        (url("git://git.example.com/fleet.git"), "repo_url"),
        (url("ext::sh -c true"), "repo_url"),
        (url("ftp://git.example.com/fleet.git"), "repo_url"),
        (url("javascript:alert(1)"), "repo_url"),
        (url("/etc/passwd"), "repo_url"),
        (url(""), "repo_url"),
        (url("ssh://-oProxyCommand=true/fleet.git"), "repo_url"),
        (url("git@-oProxyCommand=true:fleet.git"), "repo_url"),
        (url("https://git.example.com/fleet.git\nHost: evil"), "repo_url"),
        (url("https://git.example.com/fleet\u{7f}.git"), "repo_url"),
        (with("branch", json!("--upload-pack=touch")), "branch"),
        (with("branch", json!("main\r\nx")), "branch"),
        (with("branch", json!("a..b")), "branch"),
        (with("branch", json!("")), "branch"),
        (with("path_prefix", json!("/etc")), "path_prefix"),
        (with("path_prefix", json!("../other")), "path_prefix"),
        (with("path_prefix", json!("a/../../b")), "path_prefix"),
        (with("path_prefix", json!("a\tb")), "path_prefix"),
        (with("name", json!("../x")), "name"),
        (with("name", json!("")), "name"),
        (with("name", json!("x".repeat(500))), "name"),
        (with("reconcile_interval_seconds", json!(1)), "reconcile_interval_seconds"),
        (with("reconcile_interval_seconds", json!(1_000_000)), "reconcile_interval_seconds"),
        (with("vault_credential_path", json!("https://vault.example.com/x")), "vault_credential_path"),
        (with("vault_credential_path", json!("a\nb")), "vault_credential_path"),
        (with("allowed_signers", json!("-----BEGIN OPENSSH PRIVATE KEY-----")), "allowed_signers"),
        (with("ca_pem", json!("not a certificate")), "ca_pem"),
        (with("ca_pem", json!("-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----")), "ca_pem"),
    ];
    for (fields, about) in cases {
        for path in [REPOSITORIES.to_owned(), format!("{REPOSITORIES}/test")] {
            let body = json!({"gitops_repository": fields});
            let refused = installation.tell(&admin.token, "POST", &path, &body).await;
            assert_eq!(refused.status, 422, "{fields}: {refused:?}");
            let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(about), "{fields}: {message}");
            assert!(!refused.text.contains("hunter2"), "{refused:?}");
        }
    }
    let listed = installation.get(&admin, REPOSITORIES).await;
    assert_eq!(listed["gitops_repositories"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_and_files_are_refused_unless_the_server_was_told_otherwise() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.control.insecure_git = windlass_server::InsecureUrls::Refused;
    let installation = Installation::start_with(directory, config).await;
    let admin = installation.admin().await;
    let work = WorkTree::new();
    for url in ["http://git.example.com/fleet.git".to_owned(), file_url(&work)] {
        let body = json!({"gitops_repository": {"name": "fleet", "repo_url": url}});
        let refused = installation.tell(&admin.token, "POST", REPOSITORIES, &body).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        assert!(refused.text.contains("--allow-insecure-git"), "{refused:?}");
    }
}
