//! A credential is sent only to the hosts it names, or to the host that an admin first used it with.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_api::permission::Role;
use windlass_testkit::servers::{FakeForge, GitHttps, GitSsh, WorkTree};

use crate::harness::{Installation, Person, Reply, config, texts};

const REPOSITORIES: &str = "/api/v1/system/gitops_repositories";
const BINDINGS: &str = "/api/v1/system/credential_bindings";
const PASSWORD: &str = "canary-bound-password-5Kd";

/// Writes a credential to files that only the owner can read.
fn put(root: &Path, path: &str, fields: &Value) {
    let path = root.join("credentials").join(format!("{path}.json"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&path);
    let mut file = fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path).unwrap();
    file.write_all(fields.to_string().as_bytes()).unwrap();
}

async fn start() -> Installation {
    start_below("credentials").await
}

/// A server with its credentials below a directory, which may contain `{account}`.
async fn start_below(credentials: &str) -> Installation {
    let directory = tempfile::tempdir().unwrap();
    start_in(directory, credentials).await
}

async fn start_in(directory: TempDir, credentials: &str) -> Installation {
    let mut config = config(directory.path());
    config.control.credentials = windlass_server::credentials_in(&directory.path().join(credentials));
    Installation::start_with(directory, config).await
}

/// A server that records everything it receives.
struct RecordingServer {
    port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl RecordingServer {
    fn start() -> RecordingServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, heard) = (listener.local_addr().unwrap().port(), Arc::new(Mutex::new(Vec::new())));
        let kept = Arc::clone(&heard);
        std::thread::spawn(move || {
            for mut connection in listener.incoming().map(Result::unwrap) {
                let mut bytes = [0; 4096];
                let read = connection.read(&mut bytes).unwrap_or(0);
                kept.lock().unwrap().extend_from_slice(&bytes[..read]);
            }
        });
        RecordingServer { port, heard }
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}/fleet.git", self.port)
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Whether it received anything.
    fn received_anything(&self) -> bool {
        !self.heard.lock().unwrap().is_empty()
    }
}

fn repository(name: &str, url: &str, credential: &str) -> Value {
    json!({"gitops_repository": {"name": name, "repo_url": url, "vault_credential_path": credential, "enabled": false}})
}

async fn register(at: &Installation, who: &Person, body: &Value) -> Reply {
    at.tell(&who.token, "POST", REPOSITORIES, body).await
}

async fn bindings(at: &Installation, who: &Person) -> Vec<(String, String)> {
    let list = at.get(who, BINDINGS).await["credential_bindings"].clone();
    texts(&list, "credential_path").into_iter().zip(texts(&list, "host")).collect()
}

/// The entries of the audit log for an action, newest first.
async fn audited(at: &Installation, who: &Person, action: &str) -> Vec<Value> {
    let log = at.get(who, "/api/v1/system/audit?limit=500").await["audit"].clone();
    log.as_array().unwrap().iter().filter(|entry| entry["action"] == action).cloned().collect()
}

/// The message of the credential step.
fn credential_step(tested: &Value) -> Value {
    let checks = tested["checks"].as_array().unwrap();
    checks.iter().find(|check| check["step"] == "credential").unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_without_hosts_is_bound_to_the_first_host_an_admin_uses_it_with() {
    let (good, evil) = (RecordingServer::start(), RecordingServer::start());
    let at = start().await;
    put(at.directory.path(), "git", &json!({"username": "u", "password": PASSWORD}));
    let (admin, operator) = (at.admin().await, at.person(&at.account, Role::Operator).await);

    // Only an admin decides its first destination.
    let refused = register(&at, &operator, &repository("fleet", &good.url("https"), "git")).await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "credential-unbound"));
    assert!(
        refused.text.contains(&format!("windlass credential bind git {}", good.host())),
        "{}",
        refused.text
    );
    let probe = format!("{REPOSITORIES}/test");
    let tested = at.tell(&operator.token, "POST", &probe, &repository("x", &evil.url("https"), "git")).await;
    let step = credential_step(&tested.expect(200));
    assert_eq!(step["outcome"], "failed", "{step}");
    assert!(!evil.received_anything(), "a test tells it to nobody either");
    assert!(bindings(&at, &operator).await.is_empty());

    let made = register(&at, &admin, &repository("fleet", &good.url("https"), "git")).await.expect(201);
    let id = made["gitops_repository"]["id"].as_str().unwrap().to_owned();
    assert_eq!(bindings(&at, &operator).await, [("git".to_owned(), good.host())]);
    let bound = audited(&at, &admin, "credential.bind").await;
    assert_eq!((bound.len(), &bound[0]["detail"]["host"]), (1, &json!(good.host())), "{bound:?}");

    // After that, nobody can send it elsewhere: by registering, changing or testing.
    for who in [&operator, &admin] {
        let other = register(&at, who, &repository("other", &evil.url("https"), "git")).await;
        assert_eq!((other.status, other.code().as_str()), (422, "credential-host"), "{}", other.text);
        let change = json!({"gitops_repository": {"repo_url": evil.url("https")}});
        let changed = at.tell(&who.token, "PATCH", &format!("{REPOSITORIES}/{id}"), &change).await;
        assert_eq!((changed.status, changed.code().as_str()), (422, "credential-host"), "{}", changed.text);
        let tested = at.tell(&who.token, "POST", &probe, &repository("x", &evil.url("https"), "git")).await;
        assert_eq!(credential_step(&tested.expect(200))["outcome"], "failed");
        // Settings that do not concern the credential can still be changed.
        let harmless = json!({"gitops_repository": {"reconcile_interval_seconds": 600}});
        at.tell(&who.token, "PATCH", &format!("{REPOSITORIES}/{id}"), &harmless).await.expect(200);
    }
    assert!(!evil.received_anything(), "not even a connection");
    // And anyone who may register can use it on the same host.
    register(&at, &operator, &repository("second", &good.url("https"), "git")).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_admin_binds_and_unbinds_and_both_are_on_the_record() {
    let at = start().await;
    put(at.directory.path(), "git", &json!({"username": "u", "password": PASSWORD}));
    let (admin, operator) = (at.admin().await, at.person(&at.account, Role::Operator).await);
    let body = json!({"credential_path": "git", "host": "Git.Example.com"});
    assert_eq!(at.tell(&operator.token, "POST", BINDINGS, &body).await.status, 403);
    let made = at.tell(&admin.token, "POST", BINDINGS, &body).await.expect(200);
    assert_eq!(made["credential_bindings"][0]["host"], "git.example.com:443");
    assert_eq!(made["credential_bindings"][0]["bound_by"], admin.email);
    let other = json!({"credential_path": "git", "host": "git.example.com:22"});
    at.tell(&admin.token, "POST", BINDINGS, &other).await.expect(200);
    register(&at, &operator, &repository("a", "https://git.example.com/a", "git")).await.expect(201);
    register(&at, &operator, &repository("b", "ssh://git@git.example.com/a", "git")).await.expect(201);
    let elsewhere = register(&at, &operator, &repository("c", "https://git.example.com:8443/a", "git")).await;
    assert_eq!(elsewhere.code(), "credential-host");

    let one = format!("{BINDINGS}?credential_path=git&host=git.example.com:443");
    assert_eq!(at.ask(&operator.token, "DELETE", &one).await.status, 403);
    at.ask(&admin.token, "DELETE", &one).await.expect(200);
    assert_eq!(at.ask(&admin.token, "DELETE", &one).await.status, 404);
    assert_eq!(bindings(&at, &admin).await, [("git".to_owned(), "git.example.com:22".to_owned())]);
    let run = at.sync(&admin, "a").await;
    assert_eq!(run["error"]["code"], "credential-host", "{run}");
    assert_eq!(audited(&at, &admin, "credential.unbind").await.len(), 1);
    for host in ["", "https://x", "a b"] {
        let body = json!({"credential_path": "git", "host": host});
        assert_eq!(at.tell(&admin.token, "POST", BINDINGS, &body).await.status, 422, "{host}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_names_its_hosts_is_sent_to_no_other_host() {
    let (good, evil) = (RecordingServer::start(), RecordingServer::start());
    let at = start().await;
    let login = |hosts: &str| json!({"username": "u", "password": PASSWORD, "hosts": hosts});
    put(at.directory.path(), "named", &login(&format!("git.example.com, {}", good.host())));
    put(at.directory.path(), "broken", &login("not a host!"));
    let (admin, operator) = (at.admin().await, at.person(&at.account, Role::Operator).await);
    // No admin is needed if the credential names the host itself.
    register(&at, &operator, &repository("fleet", &good.url("https"), "named")).await.expect(201);
    for (credential, url) in [("named", evil.url("https")), ("broken", good.url("https"))] {
        let refused = register(&at, &admin, &repository("other", &url, credential)).await;
        assert_eq!((refused.status, refused.code().as_str()), (422, "credential-host"), "{}", refused.text);
    }
    assert!(bindings(&at, &admin).await.is_empty(), "what names its hosts needs no binding");
    // The hosts it names count at the time of use, not of registration.
    put(at.directory.path(), "named", &login("git.example.com"));
    let run = at.sync(&admin, "fleet").await;
    assert_eq!(run["error"]["code"], "credential-host", "{run}");
    let body = json!({"credential_path": "named", "host": good.host()});
    at.tell(&admin.token, "POST", BINDINGS, &body).await.expect(200);
    assert_eq!(at.sync(&admin, "fleet").await["error"]["code"], "credential-host", "no binding overrides it");
    assert!(!good.received_anything() && !evil.received_anything(), "not even a connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forges_token_is_bound_like_any_other_credential() {
    let forge = FakeForge::start(windlass_testkit::servers::ForgeFlavour::Gitea);
    let at = start().await;
    put(at.directory.path(), "forge", &json!({"token": FakeForge::TOKEN, "hosts": "forge.example.com"}));
    let admin = at.admin().await;
    let fields = json!({"gitops_repository": {"name": "x", "repo_url": format!("{}/acme/fleet", forge.url()),
        "forge": {"kind": "gitea", "credential_path": "forge"}}});
    let tested = at.tell(&admin.token, "POST", &format!("{REPOSITORIES}/test"), &fields).await.expect(200);
    let step = tested["checks"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&step["step"], &step["outcome"]), (&json!("forge"), &json!("failed")), "{tested}");
    assert!(step["message"].as_str().unwrap().contains("names other hosts"), "{step}");
    let told = |forge: &FakeForge| forge.requests().iter().any(|one| !one.header("authorization").is_empty());
    assert!(!told(&forge), "{:?}", forge.requests());
    put(at.directory.path(), "forge", &json!({"token": FakeForge::TOKEN, "hosts": forge.host()}));
    let tested = at.tell(&admin.token, "POST", &format!("{REPOSITORIES}/test"), &fields).await.expect(200);
    let step = tested["checks"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(step["outcome"], "passed", "{tested}");
    assert!(told(&forge));
}

#[tokio::test(flavor = "multi_thread")]
async fn testing_a_connection_is_on_the_record() {
    let closed = windlass_testkit::servers::free_port();
    let at = start().await;
    let operator = at.person(&at.account, Role::Operator).await;
    let url = format!("https://127.0.0.1:{closed}/fleet.git");
    let body = json!({"gitops_repository": {"name": "probed", "repo_url": url}});
    at.tell(&operator.token, "POST", &format!("{REPOSITORIES}/test"), &body).await.expect(200);
    let entries = audited(&at, &operator, "repository.test").await;
    let [entry] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!(entry["actor"], operator.email, "{entry}");
    let detail = &entry["detail"];
    assert_eq!((&detail["repo_url"], &detail["ok"]), (&json!(url), &json!(false)), "{entry}");
    assert_eq!(detail["failed_step"], "connect", "{entry}");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_repositories_from_before_are_bound_to_their_hosts_at_the_first_start_alone() {
    let at = start().await;
    put(at.directory.path(), "git", &json!({"username": "u", "password": PASSWORD}));
    let admin = at.admin().await;
    register(&at, &admin, &repository("fleet", "https://git.example.com/a", "git")).await.expect(201);
    register(&at, &admin, &repository("more", "https://git.example.com/b", "git")).await.expect(201);
    // The state before bindings existed.
    let mut writing = at.store.write().await.unwrap();
    assert!(writing.credential_unbind(&at.account, "git", "git.example.com:443").await.unwrap());
    writing.setting_put("credential_bindings", "not yet").await.unwrap();
    writing.commit().await.unwrap();
    let at = at.restart().await;
    assert_eq!(bindings(&at, &admin).await, [("git".to_owned(), "git.example.com:443".to_owned())]);
    // A binding that an admin deletes afterwards does not return.
    let one = format!("{BINDINGS}?credential_path=git&host=git.example.com:443");
    at.ask(&admin.token, "DELETE", &one).await.expect(200);
    let at = at.restart().await;
    assert!(bindings(&at, &admin).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_accounts_share_credentials_no_account_has_anothers_sent_elsewhere() {
    for (below, expected) in [("credentials", 403), ("credentials/{account}", 201)] {
        let at = start_below(below).await;
        let (admin, other) = (at.admin().await, at.new_account("other").await);
        let stranger = at.person(&other, Role::Admin).await;
        register(&at, &admin, &repository("fleet", "https://git.example.com/a", "git")).await.expect(201);
        let taken = register(&at, &stranger, &repository("mine", "https://evil.example/a", "git")).await;
        assert_eq!(taken.status, expected, "{below}: {}", taken.text);
        assert!(
            !taken.text.contains("git.example.com"),
            "nothing of the other account is told: {}",
            taken.text
        );
        let body = json!({"credential_path": "git", "host": "evil.example"});
        let bound = at.tell(&stranger.token, "POST", BINDINGS, &body).await;
        assert_eq!(bound.status == 200, expected == 201, "{below}: {}", bound.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_git_server_that_a_credential_does_not_name_is_never_told_it() {
    let Some(git) = GitHttps::start() else { return };
    let work = WorkTree::new();
    work.commit("fleet.yaml", "version: 1\naccount: acme\nclusters: [{name: one}]\n");
    work.publish(&git.root(), "fleet.git");
    let at = start().await;
    let login =
        |hosts: &str| json!({"username": GitHttps::USER, "password": GitHttps::PASSWORD, "hosts": hosts});
    let (admin, host) = (at.admin().await, git.url("").replace("https://", "").replace('/', ""));
    put(at.directory.path(), "git", &login(&host));
    let mut body = repository("fleet", &git.url("fleet.git"), "git");
    body["gitops_repository"]["ca_pem"] = json!(git.ca());
    register(&at, &admin, &body).await.expect(201);
    put(at.directory.path(), "git", &login("git.example.com"));
    assert_eq!(at.sync(&admin, "fleet").await["error"]["code"], "credential-host");
    at.ask(&admin.token, "POST", &format!("{REPOSITORIES}/fleet/test")).await.expect(200);
    assert_eq!(git.requests(), "", "it was not even asked");
    put(at.directory.path(), "git", &login(&host));
    assert_eq!(at.sync(&admin, "fleet").await["status"], "diff_ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_ssh_server_that_a_credential_does_not_name_is_never_told_it() {
    let Some(git) = GitSsh::start() else { return };
    let work = WorkTree::new();
    work.commit("fleet.yaml", "version: 1\naccount: acme\nclusters: [{name: one}]\n");
    work.publish(&git.root(), "fleet.git");
    let at = start().await;
    let admin = at.admin().await;
    put(at.directory.path(), "key", &json!({"ssh_key": git.key(), "hosts": "git.example.com"}));
    let refused = register(&at, &admin, &repository("fleet", &git.url("fleet.git"), "key")).await;
    assert_eq!(refused.code(), "credential-host");
    put(at.directory.path(), "key", &json!({"ssh_key": git.key()}));
    register(&at, &admin, &repository("fleet", &git.url("fleet.git"), "key")).await.expect(201);
    assert_eq!(at.sync(&admin, "fleet").await["status"], "diff_ready");
}
