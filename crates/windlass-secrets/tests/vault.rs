//! Credentials from a real server with Vault's API.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use windlass_core::redacted::Redacted;
use windlass_secrets::{CredentialFields, SecretError, Vault, VaultLogin, VaultSettings};
use windlass_testkit::servers::{TlsFront, VaultServer};

const PASSWORD: &str = "planted-password-8W";
const PATH: &str = "secret/data/git/fleet";

/// A server with a credential, and a policy `reader` for it.
fn server() -> Option<VaultServer> {
    let server = VaultServer::start()?;
    server.put("git/fleet", &json!({"username": "ada", "password": PASSWORD}));
    server.create_read_policy("reader", "git");
    Some(server)
}

fn with_token(server: &VaultServer, token: &str) -> VaultSettings {
    VaultSettings::new(server.url(), VaultLogin::Token(Redacted::new(token.to_owned())))
}

fn vault(server: &VaultServer) -> Vault {
    Vault::new(with_token(server, &server.token("reader"))).unwrap()
}

fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let file = directory.join(name);
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    file
}

async fn read(vault: &Vault, path: &str) -> Result<CredentialFields, SecretError> {
    vault.read("acme", path).await
}

/// The code of the error that reading a path returns; checks that the message contains no planted secret.
async fn code(vault: &Vault, path: &str) -> &'static str {
    let error = read(vault, path).await.unwrap_err();
    let told = format!("{error} {error:?} {} {vault:?}", error.help());
    assert!(!told.contains("planted") && !told.contains("s."), "{told}");
    error.code()
}

#[tokio::test]
async fn a_credential_is_read_however_its_path_is_written_and_rotation_counts_at_once() {
    let Some(server) = server() else { return };
    let vault = vault(&server);
    for path in [PATH, "secret/git/fleet"] {
        let fields = read(&vault, path).await.unwrap();
        assert_eq!(fields["username"].expose(), "ada");
        assert_eq!(fields["password"].expose(), PASSWORD);
    }
    server.put("git/fleet", &json!({"username": "ada", "password": "rotated\n"}));
    assert_eq!(read(&vault, PATH).await.unwrap()["password"].expose(), "rotated");
    assert_eq!(vault.last_error(), None);
}

#[tokio::test]
async fn what_is_not_there_has_its_own_reason() {
    let Some(server) = server() else { return };
    let vault = vault(&server);
    server.put("git/deleted", &json!({"password": PASSWORD}));
    server.request_as_root("DELETE", "secret/data/git/deleted", &Value::Null);
    server.put("git/destroyed", &json!({"password": PASSWORD}));
    server.request_as_root("PUT", "secret/destroy/git/destroyed", &json!({"versions": [1]}));
    server.put("git/shape", &json!({"password": {"nested": PASSWORD}}));
    server.put("other/fleet", &json!({"password": PASSWORD}));
    for (path, expected) in [
        ("secret/data/git/absent", "credential-missing"),
        ("secret/data/git/deleted", "vault-version-deleted"),
        ("secret/data/git/destroyed", "vault-version-deleted"),
        ("secret/data/git/shape", "credential-shape"),
        ("secret/data/other/fleet", "vault-denied"),
        ("nowhere/data/fleet", "vault-denied"),
        ("secret/data/git/../other/fleet", "credential-path"),
        ("/secret/data/git/fleet", "credential-path"),
        ("", "credential-path"),
    ] {
        assert_eq!(code(&vault, path).await, expected, "{path}");
    }
    assert_eq!(vault.last_error(), None, "Vault itself is well");
}

#[tokio::test]
async fn other_secrets_engines_are_told_apart() {
    let Some(server) = server() else { return };
    server.request_as_root("POST", "sys/mounts/old", &json!({"type": "kv", "options": {"version": "1"}}));
    server.request_as_root("POST", "old/fleet", &json!({"password": PASSWORD}));
    server.request_as_root("POST", "sys/mounts/keys", &json!({"type": "transit"}));
    server.request_as_root("POST", "sys/mounts/team/kv", &json!({"type": "kv", "options": {"version": "2"}}));
    let vault = Vault::new(with_token(&server, server.root())).unwrap();
    assert_eq!(code(&vault, "old/fleet").await, "vault-kv-v1");
    assert_eq!(code(&vault, "old/data/fleet").await, "vault-kv-v1");
    assert_eq!(code(&vault, "keys/fleet").await, "vault-not-kv");
    assert_eq!(code(&vault, "team/kv/fleet").await, "credential-missing");
}

#[tokio::test]
async fn a_token_that_is_wrong_or_revoked_is_told_apart_from_one_that_may_not() {
    let Some(server) = server() else { return };
    let wrong = Vault::new(with_token(&server, "planted-wrong-token")).unwrap();
    assert_eq!(code(&wrong, PATH).await, "vault-token");
    let token = server.token("reader");
    let vault = Vault::new(with_token(&server, &token)).unwrap();
    read(&vault, PATH).await.unwrap();
    server.revoke(&token);
    assert_eq!(code(&vault, PATH).await, "vault-token");
    assert_eq!(vault.last_error().unwrap().code(), "vault-token");
    assert_eq!(vault.keep_alive().await.unwrap_err().code(), "vault-token");
}

#[tokio::test]
async fn a_token_file_is_read_anew_and_must_be_private() {
    let Some(server) = server() else { return };
    let directory = tempfile::tempdir().unwrap();
    let first = server.token("reader");
    let file = write(directory.path(), "token", &format!("{first}\n"));
    let vault = Vault::new(VaultSettings::new(server.url(), VaultLogin::TokenFile(file.clone()))).unwrap();
    read(&vault, PATH).await.unwrap();
    server.revoke(&first);
    assert_eq!(code(&vault, PATH).await, "vault-token");
    write(directory.path(), "token", &server.token("reader"));
    read(&vault, PATH).await.unwrap();
    assert_eq!(vault.last_error(), None);
    write(directory.path(), "token", "planted two words");
    assert_eq!(code(&vault, PATH).await, "vault-login-file");
    write(directory.path(), "token", "");
    assert_eq!(code(&vault, PATH).await, "vault-login-file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(code(&vault, PATH).await, "vault-login-file");
    fs::remove_file(&file).unwrap();
    assert_eq!(code(&vault, PATH).await, "vault-login-file");
}

#[tokio::test]
async fn a_token_is_renewed_before_it_runs_out() {
    let Some(server) = server() else { return };
    let vault = vault(&server);
    vault.keep_alive().await.unwrap();
    let token = server.tokens().remove(0);
    server.set_token_ttl(&token["accessor"], "10m");
    vault.keep_alive().await.unwrap();
    assert!(server.tokens()[0]["ttl"].as_u64().unwrap() > 50 * 60, "it lives an hour again");

    let body = json!({"policies": ["root"], "renewable": false, "ttl": "1h"});
    let made = server.request_as_root("POST", "auth/token/create", &body);
    let fixed = made["auth"]["client_token"].as_str().unwrap();
    Vault::new(with_token(&server, fixed)).unwrap().keep_alive().await.unwrap();
    Vault::new(with_token(&server, server.root())).unwrap().keep_alive().await.unwrap();
}

#[tokio::test]
async fn an_app_role_logs_in_once_renews_and_logs_in_again_when_its_token_is_gone() {
    let Some(server) = server() else { return };
    let (role_id, secret_id) = server.app_role("windlass", "reader");
    let directory = tempfile::tempdir().unwrap();
    let secret_id_file = write(directory.path(), "secret-id", &secret_id);
    let login = VaultLogin::AppRole { mount: "approle".to_owned(), role_id, secret_id_file };
    let vault = Vault::new(VaultSettings::new(server.url(), login.clone())).unwrap();
    for _ in 0..3 {
        read(&vault, PATH).await.unwrap();
    }
    let tokens = server.tokens();
    assert_eq!(tokens.len(), 1, "one login for all");
    let accessor = &tokens[0]["accessor"];
    server.set_token_ttl(accessor, "10m");
    vault.keep_alive().await.unwrap();
    let renewed = server.tokens();
    assert_eq!(&renewed[0]["accessor"], accessor, "the same token");
    assert!(renewed[0]["ttl"].as_u64().unwrap() > 50 * 60, "it lives an hour again");

    server.request_as_root("POST", "auth/token/revoke-accessor", &json!({"accessor": accessor}));
    read(&vault, PATH).await.unwrap();
    let again = server.tokens();
    assert_eq!(again.len(), 1);
    assert_ne!(&again[0]["accessor"], accessor);
    assert_eq!(code(&vault, "secret/data/other/x").await, "vault-denied");
    assert_eq!(server.tokens().len(), 1, "a refusal of something else is no reason to log in");

    server.request_as_root("POST", "auth/token/revoke-accessor", &json!({"accessor": again[0]["accessor"]}));
    vault.keep_alive().await.unwrap();
    assert_eq!(server.tokens().len(), 1, "logged in before someone needs it");

    write(directory.path(), "secret-id", "planted-wrong-secret-id");
    read(&vault, PATH).await.unwrap();
    server.request_as_root(
        "POST",
        "auth/token/revoke-accessor",
        &json!({"accessor": server.tokens()[0]["accessor"]}),
    );
    assert_eq!(code(&vault, PATH).await, "vault-login");
    assert_eq!(vault.last_error().unwrap().code(), "vault-login");
}

#[tokio::test]
async fn what_cannot_be_renewed_is_replaced_in_time_or_told_of() {
    let Some(server) = server() else { return };
    let rules = "path \"secret/data/git/*\" { capabilities = [\"read\"] }\n\
                 path \"auth/token/lookup-self\" { capabilities = [\"read\"] }";
    server.request_as_root("PUT", "sys/policies/acl/poor", &json!({"policy": rules}));
    let body = json!({"policies": ["poor"], "ttl": "1h", "no_default_policy": true});
    let made = server.request_as_root("POST", "auth/token/create", &body);
    let vault = Vault::new(with_token(&server, made["auth"]["client_token"].as_str().unwrap())).unwrap();
    vault.keep_alive().await.unwrap();
    server.set_token_ttl(&made["auth"]["accessor"], "10m");
    assert_eq!(vault.keep_alive().await.unwrap_err().code(), "vault-token-ends");
    assert_eq!(vault.last_error().unwrap().code(), "vault-token-ends");
    read(&vault, PATH).await.unwrap();
    server.request_as_root(
        "POST",
        "auth/token/revoke-accessor",
        &json!({"accessor": made["auth"]["accessor"]}),
    );

    let (role_id, secret_id) = server.app_role("poor", "poor");
    server.request_as_root("POST", "auth/approle/role/poor", &json!({"token_no_default_policy": true}));
    let directory = tempfile::tempdir().unwrap();
    let secret_id_file = write(directory.path(), "secret-id", &secret_id);
    let login = VaultLogin::AppRole { mount: "approle".to_owned(), role_id, secret_id_file };
    let vault = Vault::new(VaultSettings::new(server.url(), login)).unwrap();
    vault.keep_alive().await.unwrap();
    let first = server.tokens().remove(0);
    server.set_token_ttl(&first["accessor"], "10m");
    vault.keep_alive().await.unwrap();
    assert_eq!(server.tokens().len(), 2, "logged in again while the first still lives");
    server.request_as_root("POST", "auth/token/revoke-accessor", &json!({"accessor": first["accessor"]}));
    read(&vault, PATH).await.unwrap();
    assert_eq!(server.tokens().len(), 1, "it is the second that is used");
}

#[tokio::test]
async fn a_vault_that_is_not_set_up_sealed_or_gone_says_so_and_comes_back() {
    let Some(mut server) = VaultServer::start_empty() else { return };
    let early = Vault::new(with_token(&server, "planted-token")).unwrap();
    assert_eq!(code(&early, PATH).await, "vault-uninitialised");
    server.set_up();
    server.put("git/fleet", &json!({"password": PASSWORD}));
    let vault = Vault::new(with_token(&server, server.root())).unwrap();
    read(&vault, PATH).await.unwrap();
    server.seal();
    assert_eq!(code(&vault, PATH).await, "vault-sealed");
    assert_eq!(vault.keep_alive().await.unwrap_err().code(), "vault-sealed");
    server.unseal();
    vault.keep_alive().await.unwrap();
    assert_eq!(read(&vault, PATH).await.unwrap()["password"].expose(), PASSWORD);
    server.stop();
    assert_eq!(code(&vault, PATH).await, "vault-unreachable");
    assert_eq!(vault.last_error().unwrap().code(), "vault-unreachable");
}

#[tokio::test]
async fn a_namespace_is_worked_in_or_refused() {
    let Some(server) = server() else { return };
    server.request_as_root("POST", "sys/namespaces/team", &json!({}));
    let mut settings = with_token(&server, server.root());
    settings.namespace = Some("nowhere".to_owned());
    let vault = Vault::new(settings.clone()).unwrap();
    assert_eq!(code(&vault, PATH).await, "vault-namespace");
    settings.namespace = Some("team/".to_owned());
    let vault = Vault::new(settings).unwrap();
    assert_eq!(code(&vault, PATH).await, "vault-denied", "the namespace has no such mount");
    server.request_as_root(
        "POST",
        "team/sys/mounts/secret",
        &json!({"type": "kv", "options": {"version": "2"}}),
    );
    server.request_as_root(
        "POST",
        "team/secret/data/git/fleet",
        &json!({"data": {"password": "of the team"}}),
    );
    assert_eq!(read(&vault, PATH).await.unwrap()["password"].expose(), "of the team");
}

#[tokio::test]
async fn only_a_certificate_of_the_given_authority_is_trusted() {
    let Some(server) = server() else { return };
    let Some(front) = TlsFront::start(&server.url()) else { return };
    let login = VaultLogin::Token(Redacted::new(server.token("reader")));
    let mut settings = VaultSettings::new(front.url(), login);
    assert_eq!(code(&Vault::new(settings.clone()).unwrap(), PATH).await, "vault-tls");
    settings.ca_pem = Some(fs::read_to_string(front.ca_file()).unwrap());
    assert!(read(&Vault::new(settings.clone()).unwrap(), PATH).await.is_ok());
    settings.address = server.url().replace("http://", "https://");
    assert_eq!(code(&Vault::new(settings.clone()).unwrap(), PATH).await, "vault-tls");
    settings.ca_pem = Some("no certificate".to_owned());
    assert!(Vault::new(settings).is_err());
}

#[tokio::test]
async fn one_who_never_answers_is_not_waited_for() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let mut settings = VaultSettings::new(address, VaultLogin::Token(Redacted::new("planted".to_owned())));
    settings.timeout = Duration::from_millis(50);
    assert_eq!(code(&Vault::new(settings).unwrap(), PATH).await, "vault-timeout");
}

/// A fake Vault that answers every request alike, and its health endpoint with 429 and a state: responses that a real
/// Vault cannot be made to give.
async fn start_fake_vault(answer: String, health: &'static str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 16 * 1024];
            let length = stream.read(&mut request).await.unwrap_or_default();
            let is_health = String::from_utf8_lossy(&request[..length]).starts_with("GET /v1/sys/health ");
            let (head, body) = answer.split_once('|').unwrap();
            let (head, body) = if is_health { ("429 Standby", health) } else { (head, body) };
            let length = body.len();
            let text =
                format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
            // A client that has read enough closes the connection early.
            let _ = stream.write_all(text.as_bytes()).await;
        }
    });
    address
}

#[tokio::test]
async fn odd_answers_have_their_own_reasons_and_no_redirect_is_followed() {
    let well = r#"{"initialized": true, "sealed": false, "standby": false}"#;
    let standby = r#"{"initialized": true, "sealed": false, "standby": true}"#;
    let elsewhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let moved = format!("307 Moved\r\nLocation: http://{}/v1/x|", elsewhere.local_addr().unwrap());
    let large = format!("200 OK|{}", " ".repeat(2 * 1024 * 1024));
    for (answer, health, expected) in [
        (moved.clone(), standby, "vault-standby"),
        (moved, well, "vault-answer"),
        ("429 Too Many Requests|".to_owned(), well, "vault-busy"),
        ("500 Internal Server Error|planted".to_owned(), well, "vault-answer"),
        ("418 Teapot|planted".to_owned(), well, "vault-answer"),
        ("200 OK|planted".to_owned(), well, "vault-answer"),
        (large, well, "vault-too-large"),
    ] {
        let address = start_fake_vault(answer, health).await;
        let settings = VaultSettings::new(address, VaultLogin::Token(Redacted::new("planted".to_owned())));
        assert_eq!(code(&Vault::new(settings).unwrap(), PATH).await, expected);
    }
    let asked = tokio::time::timeout(Duration::ZERO, elsewhere.accept()).await;
    assert!(asked.is_err(), "a token is told to the configured address alone");
}

#[tokio::test]
async fn names_are_listed_below_the_prefix_and_nothing_is_read_outside() {
    let Some(server) = server() else { return };
    for path in ["git/acme/one", "git/acme/deep/er/two", "git/other/three"] {
        server.put(path, &json!({"password": PASSWORD}));
    }
    let mut settings = with_token(&server, &server.token("reader"));
    let vault = Vault::new(settings.clone()).unwrap();
    assert_eq!(vault.list("acme").await.unwrap_err().code(), "vault-prefix-missing");
    settings.prefix = Some("secret/git/{account}".to_owned());
    let vault = Vault::new(settings.clone()).unwrap();
    let listing = vault.list("acme").await.unwrap();
    assert!(listing.is_complete);
    assert_eq!(listing.paths, ["secret/data/git/acme/deep/er/two", "secret/data/git/acme/one"]);
    assert_eq!(vault.list("nobody").await.unwrap().paths, Vec::<String>::new());
    for path in &listing.paths {
        read(&vault, path).await.unwrap();
        assert_eq!(vault.read("other", path).await.unwrap_err().code(), "credential-path");
    }
    assert_eq!(code(&vault, PATH).await, "credential-path");
    settings.prefix = Some("secret/closed".to_owned());
    assert_eq!(Vault::new(settings).unwrap().list("acme").await.unwrap_err().code(), "vault-denied");
}
