//! Planted secrets: a secret that is given to a server does not appear in any output.
//!
//! Accepted values must be in an export, otherwise it would not rebuild the fleet. It is the only response that has
//! them, and only people who may read the fleet get it. Two other responses contain a secret that this server created:
//! that of a new token, and that of a webhook, which is stored nowhere and whose every disclosure is in the audit log.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_api::endpoint::{Method, Operation, endpoints};
use windlass_testkit::servers::{GitHttps, WorkTree};

use crate::harness::{file_url, texts};

/// Secrets that not even the database may contain.
const OWN_PASSWORD: &str = "canary-own-password-1Zq";
const WRONG_PASSWORD: &str = "canary-wrong-password-2Zq";
const SSH_KEY: &str = "canary-ssh-key-3Zq";
const URL_PASSWORD: &str = "canary-url-password-4Zq";
const QUERY: &str = "canary-query-5Zq";
const MALFORMED: &str = "canary-malformed-6Zq";
const BROKEN: &str = "canary-broken-fleet-7Zq";
const GIT_PASSWORD: &str = GitHttps::PASSWORD;

/// Part of the fleet, under keys that look like secrets: accepted, exported, and shown nowhere else.
const IN_FLEET: &str = "canary-in-fleet-8Zq";
const BY_HAND: &str = "canary-by-hand-9Zq";
const EDITED: &str = "canary-edited-0Zq";

const STRICT: &[&str] =
    &[OWN_PASSWORD, WRONG_PASSWORD, SSH_KEY, URL_PASSWORD, QUERY, MALFORMED, BROKEN, GIT_PASSWORD];
const ACCEPTED: &[&str] = &[IN_FLEET, BY_HAND, EDITED];

/// The program itself, with all its output recorded.
struct Process {
    child: Child,
    directory: TempDir,
    base: String,
    password: String,
    http: reqwest::Client,
    answers: Mutex<Vec<(String, String)>>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    fn start() -> Process {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        plant(at, "git/https/username", GitHttps::USER);
        plant(at, "git/https/password", GIT_PASSWORD);
        plant(at, "git/ssh/ssh_key", &private_key());
        // Each is bound to the first host it is used with.
        plant(at, "git/closed/username", GitHttps::USER);
        plant(at, "git/closed/password", GIT_PASSWORD);
        let mut child = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(["serve", "--listen", "127.0.0.1:0", "--allow-insecure-git", "--first-account", "acme"])
            .args(["--log", "debug", "--log-format", "json", "--allow-address", "127.0.0.0/8"])
            .arg("--data-dir")
            .arg(at.join("data"))
            .arg("--credentials-dir")
            .arg(at.join("credentials"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(at.join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let base = lines.find_map(|line| Some(line.split_once(" on ")?.1.to_owned())).unwrap();
        let password = lines.find_map(|line| Some(line.trim().strip_prefix("password")?.trim().to_owned()));
        Process {
            child,
            directory,
            base,
            password: password.unwrap(),
            http: reqwest::Client::new(),
            answers: Mutex::default(),
        }
    }

    /// Sends a request and records the response.
    async fn ask(&self, token: &str, method: &str, path: &str, body: Vec<u8>) -> Value {
        let (_, text) = self.ask_aside(token, method, path, body).await;
        self.answers.lock().unwrap().push((format!("{method} {path}"), text.clone()));
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Sends a request whose response may contain a secret.
    async fn ask_aside(&self, token: &str, method: &str, path: &str, body: Vec<u8>) -> (u16, String) {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.http.request(method, format!("{}{path}", self.base)).bearer_auth(token).body(body);
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("content-type", "application/json");
        let response = request.header("x-request-id", "secrecy-request").send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), format!("{:?}", response.headers()));
        self.answers.lock().unwrap().push((format!("headers of {path}"), headers));
        (status, response.text().await.unwrap())
    }

    async fn tell(&self, token: &str, method: &str, path: &str, body: Value) -> Value {
        self.ask(token, method, path, body.to_string().into_bytes()).await
    }

    async fn get(&self, token: &str, path: &str) -> Value {
        self.ask(token, "GET", path, Vec::new()).await
    }

    async fn login(&self, password: &str) -> Value {
        let body = json!({"email": "admin@localhost", "password": password}).to_string();
        let (status, text) = self.ask_aside("", "POST", "/api/v1/auth/login", body.into_bytes()).await;
        assert_eq!(status == 200, password != WRONG_PASSWORD, "{status}");
        serde_json::from_str(&text).unwrap()
    }

    /// Registers a repository, syncs it and returns it with its run.
    async fn sync(&self, token: &str, fields: Value) -> (String, Value) {
        let all = "/api/v1/system/gitops_repositories";
        let made = self.tell(token, "POST", all, json!({"gitops_repository": fields})).await;
        let id = made["gitops_repository"]["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        self.ask(token, "POST", &format!("{all}/{id}/test"), Vec::new()).await;
        let run = self.ask(token, "POST", &format!("{all}/{id}/sync_now?wait=60"), Vec::new()).await;
        (id, run["sync_run"].clone())
    }

    /// Stops it as a service manager does and returns its log.
    fn stop(&mut self) -> String {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
        fs::read_to_string(self.directory.path().join("log")).unwrap()
    }
}

fn private_key() -> String {
    format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{SSH_KEY}\n-----END OPENSSH PRIVATE KEY-----\n")
}

/// Writes a credential to a file that only the owner can read.
fn plant(root: &Path, path: &str, content: &str) {
    let path = root.join("credentials").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path).unwrap();
    std::io::Write::write_all(&mut file, content.as_bytes()).unwrap();
}

fn fleet_text() -> String {
    format!(
        "version: 1\naccount: acme\nmodules:\n  db:\n    config: {{db_password: {IN_FLEET}, port: 1}}\n  \
         other:\n    config: {{port: 1}}\nclusters: [{{name: one}}]\n"
    )
}

/// Every file below a directory, as bytes.
fn files(directory: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push((path.display().to_string(), fs::read(&path).unwrap_or_default())),
        }
    }
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

/// Signs in, chooses a password, creates a token, and makes each mistake, too.
async fn sign_in(process: &Process) -> (String, String) {
    let first = process.login(&process.password).await;
    let body = json!({"current_password": process.password, "new_password": OWN_PASSWORD});
    process.tell(first["token"].as_str().unwrap(), "POST", "/api/v1/auth/password", body).await;
    process.login(WRONG_PASSWORD).await;
    let token = process.login(OWN_PASSWORD).await["token"].as_str().unwrap().to_owned();
    let body = json!({"current_password": WRONG_PASSWORD, "new_password": OWN_PASSWORD});
    process.tell(&token, "POST", "/api/v1/auth/password", body).await;
    let permissions = ["system.gitops.read", "system.fleet.read"];
    let body = json!({"name": "ci", "permissions": permissions}).to_string().into_bytes();
    let (_, made) = process.ask_aside(&token, "POST", "/api/v1/auth/tokens", body).await;
    let secret = serde_json::from_str::<Value>(&made).unwrap()["secret"].as_str().unwrap().to_owned();
    process.get(&secret, "/api/v1/auth/me").await;
    (token, secret)
}

/// Typical mistakes of users.
async fn make_mistakes(process: &Process, token: &str) {
    let repositories = "/api/v1/system/gitops_repositories";
    for url in [
        format!("https://user:{URL_PASSWORD}@git.example.com/fleet.git"),
        format!("https://{URL_PASSWORD}@git.example.com"),
        format!("ssh://git:{URL_PASSWORD}@git.example.com/x"),
        format!("http://a:{URL_PASSWORD}@127.0.0.1:1/x"),
        format!("git:{URL_PASSWORD}@git.example.com:x"),
    ] {
        for path in [repositories.to_owned(), format!("{repositories}/test")] {
            let body = json!({"gitops_repository": {"repo_url": url}});
            let refused = process.tell(token, "POST", &path, body).await;
            assert!(refused["error"]["code"].is_string(), "{url}: {refused}");
        }
    }
    for fields in [
        json!({"vault_credential_path": private_key()}),
        json!({"ca_pem": private_key()}),
        json!({"allowed_signers": private_key()}),
        json!({"branch": private_key()}),
        json!({"ssh_key": private_key()}),
    ] {
        let mut fields = fields;
        fields["name"] = json!("mistaken");
        fields["repo_url"] = json!("https://git.example.com/x");
        let refused = process.tell(token, "POST", repositories, json!({"gitops_repository": fields})).await;
        assert!(refused["error"]["code"].is_string(), "{fields}: {refused}");
    }
    for path in
        ["/api/v1/system/nodes", "/api/v1/system/proposals", "/api/v1/auth/me", "/nowhere", "/metrics"]
    {
        process.get(token, &format!("{path}?access_token={QUERY}&token={QUERY}&password={QUERY}")).await;
    }
    for path in
        ["/api/v1/auth/login", "/api/v1/auth/users", "/api/v1/auth/tokens", "/api/v1/system/node_modules"]
    {
        for body in [
            format!("{{\"password\": \"{MALFORMED}\", "),
            format!("{{\"password\": \"{MALFORMED}\"}}"),
            format!("{{\"email\": \"x\", \"password\": [\"{MALFORMED}\"]}}"),
            format!("\"{MALFORMED}\""),
            format!("password={MALFORMED}"),
        ] {
            process.ask(token, "POST", path, body.into_bytes()).await;
        }
    }
    let (_, text) = process.ask_aside(MALFORMED, "GET", "/api/v1/auth/me", Vec::new()).await;
    assert!(text.contains("unauthorized"));
    misuse_tools(process, token).await;
}

/// Secrets in arguments of tools where none belongs, and where one does.
async fn misuse_tools(process: &Process, token: &str) {
    for (tool, arguments) in [
        (
            "system_gitops_register_repository",
            json!({"repo_url": format!("https://u:{URL_PASSWORD}@git.example.com/x")}),
        ),
        (
            "system_gitops_register_repository",
            json!({"repo_url": "https://git.example.com/x", "ca_pem": private_key()}),
        ),
        ("system_gitops_register_repository", json!({"repo_url": [MALFORMED]})),
        ("system_gitops_get_repository", json!({"repository_id": {"password": MALFORMED}})),
        (
            "system_create_node",
            json!({"hostname": "a", "template": "absent", "config": {"api_token": MALFORMED}}),
        ),
    ] {
        let params = json!({"name": tool, "arguments": arguments});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let refused = process.tell(token, "POST", "/mcp", message).await;
        assert_eq!(refused["result"]["isError"], true, "{tool}: {refused}");
    }
    process.ask(token, "POST", "/mcp", format!("{{\"password\": \"{MALFORMED}\", ").into_bytes()).await;
}

/// A fleet that cannot be read.
fn broken_text() -> String {
    format!(
        "version: 1\naccount: acme\nmodules:\n  x:\n    config: {{db_password: {BROKEN}, db_password: [}}\n"
    )
}

/// Syncs that succeed and fail, in every way that involves a credential.
async fn sync_everything(process: &Process, token: &str) {
    let broken = WorkTree::new();
    broken.commit("fleet.yaml", &broken_text());
    let (_, run) = process.sync(token, json!({"name": "broken", "repo_url": file_url(&broken)})).await;
    assert_eq!(run["status"], "failed", "{run}");
    let ssh =
        json!({"name": "ssh", "repo_url": "ssh://git@127.0.0.1:1/x", "vault_credential_path": "git/ssh"});
    assert_eq!(process.sync(token, ssh).await.1["status"], "failed");
    let closed =
        json!({"name": "closed", "repo_url": "https://127.0.0.1:1/x", "vault_credential_path": "git/closed"});
    assert_eq!(process.sync(token, closed).await.1["status"], "failed");
    let wrong =
        json!({"name": "wrong", "repo_url": "https://127.0.0.1:1/x", "vault_credential_path": "git/ssh"});
    assert_eq!(process.sync(token, wrong).await.1["status"], "failed");
    if let Some(server) = GitHttps::start() {
        let work = WorkTree::new();
        work.commit("fleet.yaml", "version: 1\naccount: acme\nclusters: [{name: from-https}]\n");
        work.publish(&server.root(), "fleet.git");
        let fields = json!({"name": "https", "repo_url": server.url("fleet.git"), "ca_pem": server.ca(),
            "vault_credential_path": "git/https"});
        assert_eq!(process.sync(token, fields).await.1["status"], "diff_ready");
        let fields = json!({"name": "missing", "repo_url": server.url("missing.git"), "ca_pem": server.ca(),
            "vault_credential_path": "git/https"});
        assert_eq!(process.sync(token, fields).await.1["status"], "failed");
    }
}

/// A fleet with secrets is synced, edited, applied, and changed manually afterwards.
async fn accepted_with_secrets(process: &Process, token: &str, work: &WorkTree) -> (String, Value) {
    let (repository, run) = process.sync(token, json!({"name": "fleet", "repo_url": file_url(work)})).await;
    assert_eq!(run["diff_count"], 3, "{run}");
    let of = |name: &str| {
        let list = run["proposals"].as_array().unwrap();
        list.iter().find(|proposal| proposal["name"] == name).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let edit = json!({"payload": {"config": {"port": 2, "api_token": EDITED}}});
    let path = format!("/api/v1/system/proposals/{}/edit", of("other"));
    let edited = process.tell(token, "POST", &path, edit).await;
    assert_eq!(edited["proposal"]["edited_payload"]["config"]["api_token"], "(hidden)", "{edited}");
    for name in ["db", "other", "one"] {
        let one = format!("/api/v1/system/proposals/{}", of(name));
        let digest = process.get(token, &one).await["proposal"]["digest"].clone();
        let body = json!({"reason": "fine", "digest": digest});
        process.tell(token, "POST", &format!("{one}/approve"), body).await;
        let applied = process.ask(token, "POST", &format!("{one}/apply?wait=60"), Vec::new()).await;
        assert_eq!(applied["proposal"]["status"], "applied", "{applied}");
    }
    let hand = json!({"name": "hand", "config": {"client_secret": BY_HAND, "url": format!("https://u:{BY_HAND}@x/y")}});
    process.tell(token, "POST", "/api/v1/system/node_modules", hand.clone()).await;
    process.tell(token, "POST", "/api/v1/system/node_modules", hand).await;
    let path = "/api/v1/system/node_modules/db";
    process.tell(token, "PATCH", path, json!({"config": {"db_password": BY_HAND}})).await;
    process.tell(token, "PATCH", path, json!({"config": {"db_password": BY_HAND}, "priority": "x"})).await;
    let drift = format!("/api/v1/system/gitops_repositories/{repository}/drift");
    let adopt = json!({"resources": [{"kind": "module", "name": "db"}]});
    let adopted = process.tell(token, "POST", &format!("{drift}/adopt"), adopt).await;
    assert_eq!(adopted["error"]["code"], "secret-inline", "{adopted}");
    process.tell(token, "POST", &format!("{drift}/revert"), json!({"kind": "module", "name": "db"})).await;
    process
        .tell(
            token,
            "POST",
            &format!("{drift}/accept"),
            json!({"kind": "module", "name": "db", "reason": "x"}),
        )
        .await;
    process.tell(token, "PATCH", path, json!({"config": {"db_password": IN_FLEET}})).await;
    (repository, run)
}

/// Requests previews of the accepted state, of a broken fleet, and of uncommitted files.
async fn preview_everything(process: &Process, token: &str, repository: &str) {
    let main = json!({"ref": "main"});
    let sent = json!({"files": {"fleet.yaml": fleet_text().replace(IN_FLEET, BROKEN)}});
    let broken = json!({"files": {"fleet.yaml": broken_text()}});
    for (of, body) in
        [(repository, &main), (repository, &sent), ("broken", &broken), ("ssh", &main), ("closed", &main)]
    {
        let all = format!("/api/v1/system/gitops_repositories/{of}/previews");
        let made = process.tell(token, "POST", &all, body.clone()).await;
        assert_eq!(made["preview"]["plan"].is_object(), !["ssh", "closed"].contains(&of), "{made}");
        for id in texts(&process.get(token, &all).await["previews"], "id") {
            process.get(token, &format!("{all}/{id}")).await;
        }
    }
}

/// Reads every page and list.
async fn look_everywhere(process: &Process, token: &str, repository: &str, run: &Value) {
    let runs = process.get(token, "/api/v1/system/gitops_sync_runs?limit=500").await;
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.method == Method::Get) {
        let ids = match endpoint.operation {
            Operation::EventStream | Operation::Export | Operation::RepositoryWebhook => continue,
            Operation::RunShow => texts(&runs["sync_runs"], "id"),
            Operation::ProposalShow => texts(&run["proposals"], "id"),
            Operation::Resource(..) => ["db", "other", "hand", "one"].map(str::to_owned).to_vec(),
            _ => vec![repository.to_owned(), "https".to_owned(), "ssh".to_owned(), "broken".to_owned()],
        };
        let has_limit = endpoint.query.iter().any(|(name, _)| *name == "limit");
        for id in ids {
            let path = endpoint.path.replace("{id}", &id);
            process.get(token, &if has_limit { format!("{path}?limit=500") } else { path }).await;
        }
    }
}

/// Reads the secret of a webhook, replaces it with an idempotency key, and sends it where it is accepted and where it
/// is not. Returns the valid secret.
async fn use_webhook(process: &Process, token: &str, repository: &str) -> String {
    let path = format!("/api/v1/system/gitops_repositories/{repository}/webhook");
    let (status, before) = process.ask_aside(token, "GET", &path, Vec::new()).await;
    assert_eq!(status, 200);
    let method = reqwest::Method::POST;
    let request = process.http.request(method.clone(), format!("{}{path}/rotate", process.base));
    let request = request.bearer_auth(token).header("idempotency-key", "rotate-once");
    let shown: Value = request.send().await.unwrap().json().await.unwrap();
    let secret = shown["secret"].as_str().unwrap().to_owned();
    assert!(!before.contains(&secret));
    for (repository, status) in [(repository, 200), ("absent", 401)] {
        let url = format!("{}/api/v1/webhooks/{repository}", process.base);
        let request = process.http.request(method.clone(), url).header("x-gitlab-token", &secret);
        let response = request.header("x-gitlab-event", "Note Hook").body("{}").send().await.unwrap();
        assert_eq!(response.status().as_u16(), status);
        let text = response.text().await.unwrap();
        process.answers.lock().unwrap().push(("a webhook".to_owned(), text));
    }
    let events = process.get(token, "/api/v1/system/fleet_events?kind=gitops.webhook_rotated").await;
    assert_eq!(events["fleet_events"].as_array().map(Vec::len), Some(1), "{events}");
    secret
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_secrets_appear_only_in_an_export() {
    let mut process = Process::start();
    let (token, secret) = sign_in(&process).await;
    make_mistakes(&process, &token).await;
    sync_everything(&process, &token).await;
    let work = WorkTree::new();
    work.commit("fleet.yaml", &fleet_text());
    let (repository, run) = accepted_with_secrets(&process, &token, &work).await;
    preview_everything(&process, &token, &repository).await;
    look_everywhere(&process, &token, &repository, &run).await;

    let hook_secret = use_webhook(&process, &token, &repository).await;

    let export = "/api/v1/system/export_fleet_yaml";
    let (status, masked) = process.ask_aside(&secret, "GET", export, Vec::new()).await;
    assert_eq!(status, 200);
    for word in ACCEPTED {
        assert!(!masked.contains(word), "a masked export tells {word}");
    }
    let whole = format!("{export}?secrets=show");
    let (status, _) = process.ask_aside(&secret, "GET", &whole, Vec::new()).await;
    assert_eq!(status, 403, "the token was not given that");
    let (status, exported) = process.ask_aside(&token, "GET", &whole, Vec::new()).await;
    assert_eq!(status, 200);
    for word in ACCEPTED {
        assert!(exported.contains(word), "an export without {word} would not rebuild the fleet");
    }
    let body = json!({"name": "blind", "permissions": ["system.gitops.read"]}).to_string().into_bytes();
    let (_, blind) = process.ask_aside(&token, "POST", "/api/v1/auth/tokens", body).await;
    let blind: Value = serde_json::from_str(&blind).unwrap();
    let (status, refused) =
        process.ask_aside(blind["secret"].as_str().unwrap(), "GET", export, Vec::new()).await;
    assert_eq!(status, 403);
    assert!(!refused.contains("canary"));

    let log = process.stop();
    let own = &[secret.as_str(), token.as_str(), process.password.as_str(), hook_secret.as_str()];
    assert!(log.contains("secrecy-request") && log.contains("DEBUG"), "requests are in the log by their id");
    let answers = std::mem::take(&mut *process.answers.lock().unwrap());
    assert!(answers.len() > 150, "{}", answers.len());
    let told =
        answers.iter().map(|(what, text)| (what.as_str(), text.as_bytes())).chain([("log", log.as_bytes())]);
    for (what, text) in told {
        for word in STRICT.iter().chain(ACCEPTED).chain(own) {
            assert!(!holds(text, word), "{what} tells {word}: {}", String::from_utf8_lossy(text));
        }
    }
    let mut kept = Vec::new();
    files(&process.directory.path().join("data"), &mut kept);
    assert!(kept.iter().any(|(path, bytes)| path.contains("windlass.db") && holds(bytes, IN_FLEET)));
    for (path, bytes) in kept {
        for word in STRICT.iter().chain(own) {
            // A mirror is git's own copy of the commits.
            let is_committed = *word == BROKEN && (path.contains("mirrors") || path.contains("previews"));
            assert!(is_committed || !holds(&bytes, word), "{path} holds {word}");
        }
    }
}
