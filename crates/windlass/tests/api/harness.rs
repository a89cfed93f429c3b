//! A server for each test, people in it, and raw HTTP, so that headers and bodies are exact.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_api::permission::{Permission, Role};
use windlass_core::address_guard::AllowedAddress;
use windlass_core::digest::Digest;
use windlass_core::enrolment::{JoinState, NodeJoin};
use windlass_core::id::{AccountId, RolloutId, SessionId, TokenId, UserId};
use windlass_core::redacted::Redacted;
use windlass_core::resource::{Kind, NodeRollout, ResourceKey};
use windlass_core::rollout::{Hold, NewRollout, RolloutNode, RolloutNodeState, RolloutStatus, RolloutUpdate};
use windlass_core::time::Timestamp;
use windlass_server::{Config, InsecureUrls, RunningServer};
use windlass_store::{Session, Store, Token, User, new_id, unique_text};
use windlass_testkit::servers::WorkTree;

/// A fleet with most kinds, for the first account of every installation.
pub(crate) const FLEET: &str = include_str!("fleet.yaml");

/// A response that takes longer is a failure.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(90);

/// Numbers that make names unique.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A server with its own data.
pub(crate) struct Installation {
    pub(crate) directory: TempDir,
    pub(crate) store: Store,
    /// The account of the first start, named `acme`.
    pub(crate) account: AccountId,
    pub(crate) base: String,
    key: Vec<u8>,
    http: reqwest::Client,
    running: RunningServer,
}

/// A signed-in person.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) id: UserId,
    pub(crate) email: String,
    pub(crate) account: AccountId,
    pub(crate) token: String,
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body if the response has this status.
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// The code of an error.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// A header's text.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// Status and body without the request's id, the only part in which two equal responses may differ.
    pub(crate) fn without_request(&self) -> (u16, Value) {
        let mut body = if self.text.is_empty() { Value::Null } else { self.json() };
        if let Some(error) = body["error"].as_object_mut() {
            error.remove("request_id");
        }
        (self.status, body)
    }
}

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap())
}

/// The configuration of a test server.
pub(crate) fn config(directory: &std::path::Path) -> Config {
    let mut config = Config::in_directory(directory.join("data"));
    config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    config.agent_listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    config.control.insecure_git = InsecureUrls::Allowed;
    // The tests' git servers and forges are on this machine.
    config.control.allowed_addresses = AllowedAddress::loopback().to_vec();
    config.control.unreached_after = Duration::ZERO;
    config.first_account = "acme".to_owned();
    config.control.max_proposals = 1_000;
    config
}

impl Installation {
    pub(crate) async fn start() -> Installation {
        let directory = tempfile::tempdir().unwrap();
        let config = config(directory.path());
        Installation::start_with(directory, config).await
    }

    pub(crate) async fn start_with(directory: TempDir, config: Config) -> Installation {
        let (database, key) = (config.database.clone(), config.control.data_dir.join("secret.key"));
        let running = windlass_server::start(config).await.unwrap();
        let store = Store::open(&database).await.unwrap();
        let mut reading = store.read().await.unwrap();
        let account = reading.account("acme").await.unwrap().unwrap().id;
        drop(reading);
        let key = std::fs::read_to_string(key).unwrap().lines().next().unwrap().to_owned().into_bytes();
        let base = format!("http://{}", running.address());
        let http = reqwest::Client::builder().timeout(TIMEOUT).build().unwrap();
        Installation { directory, store, account, base, key, http, running }
    }

    /// The address on which the server listens for agents.
    pub(crate) fn agent_address(&self) -> SocketAddr {
        self.running.agent_address().expect("every server of these tests listens for agents")
    }

    /// The same data, served by another server.
    pub(crate) async fn restart(self) -> Installation {
        self.store.close().await;
        self.running.stop().await;
        let config = config(self.directory.path());
        Installation::start_with(self.directory, config).await
    }

    /// Creates another account.
    pub(crate) async fn new_account(&self, name: &str) -> AccountId {
        let id = new_id();
        let mut writing = self.store.write().await.unwrap();
        writing.account_add(&id, name, now()).await.unwrap();
        writing.commit().await.unwrap();
        id
    }

    /// A new person in an account, signed in.
    pub(crate) async fn person(&self, account: &AccountId, role: Role) -> Person {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.person_with_email(&format!("{role}-{number}@example.com"), account, role).await
    }

    /// A new person with this address in an account, signed in.
    pub(crate) async fn person_with_email(&self, email: &str, account: &AccountId, role: Role) -> Person {
        let user = User {
            id: new_id(),
            email: email.to_owned(),
            name: role.to_string(),
            password_hash: Redacted::new("no password has this hash".to_owned()),
            must_change_password: false,
            is_root: false,
            disabled_at: None,
            created_at: now(),
        };
        let mut writing = self.store.write().await.unwrap();
        writing.user_add(&user).await.unwrap();
        writing.member_set(account, &user.id, role, now()).await.unwrap();
        writing.commit().await.unwrap();
        let token = self.session(&user.id, account).await;
        Person { id: user.id, email: user.email, account: account.clone(), token }
    }

    /// Adds a person to another account as well.
    pub(crate) async fn add_to_account(&self, person: &Person, account: &AccountId, role: Role) -> Person {
        let mut writing = self.store.write().await.unwrap();
        writing.member_set(account, &person.id, role, now()).await.unwrap();
        writing.commit().await.unwrap();
        let token = self.session(&person.id, account).await;
        Person { account: account.clone(), token, ..person.clone() }
    }

    /// An admin of the first account.
    pub(crate) async fn admin(&self) -> Person {
        self.person(&self.account, Role::Admin).await
    }

    /// The administrator of the installation, with a password of their own.
    pub(crate) async fn root(&self) -> Person {
        let user = self.store.read().await.unwrap().user("admin@localhost").await.unwrap().unwrap();
        let mut writing = self.store.write().await.unwrap();
        writing.user_set_password(&user.id, &user.password_hash, false).await.unwrap();
        writing.commit().await.unwrap();
        let token = self.session(&user.id, &self.account).await;
        Person { id: user.id, email: user.email, account: self.account.clone(), token }
    }

    /// A new session of a person.
    pub(crate) async fn session(&self, user_id: &UserId, account: &AccountId) -> String {
        let expires_at = now().plus(Duration::from_secs(3600));
        let session = Session {
            id: new_id(),
            user_id: user_id.clone(),
            account_id: account.clone(),
            address: "127.0.0.1".to_owned(),
            created_at: now(),
            expires_at,
        };
        let mut writing = self.store.write().await.unwrap();
        writing.session_add(&session).await.unwrap();
        writing.commit().await.unwrap();
        self.sign(&self.key, Algorithm::HS256, "windlass", user_id, &session.id, expires_at)
    }

    /// A JWT, valid or not.
    pub(crate) fn sign(
        &self,
        key: &[u8],
        algorithm: Algorithm,
        audience: &str,
        user_id: &UserId,
        session_id: &SessionId,
        expires_at: Timestamp,
    ) -> String {
        let claims = json!({"aud": audience, "sub": user_id, "sid": session_id, "iat": 1,
            "exp": expires_at.as_millis() / 1000});
        jsonwebtoken::encode(&Header::new(algorithm), &claims, &EncodingKey::from_secret(key)).unwrap()
    }

    /// The key that signs sessions.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// An API token of a person, as if created through the API, but with any lifetime.
    pub(crate) async fn api_token(&self, of: &Person, permissions: &[Permission], life: Life) -> ApiToken {
        let secret = format!("wlt_test-{}-{}", NEXT.fetch_add(1, Ordering::Relaxed), unique_text());
        let day = Duration::from_secs(24 * 3600);
        let token = Token {
            id: new_id(),
            account_id: of.account.clone(),
            name: "made by a test".to_owned(),
            permissions: permissions.iter().map(|permission| permission.slug().to_owned()).collect(),
            created_by: of.id.clone(),
            created_at: now(),
            expires_at: Some(if life == Life::Expired { now().minus(day) } else { now().plus(day) }),
            last_used_at: None,
            revoked_at: None,
        };
        let mut writing = self.store.write().await.unwrap();
        writing.token_add(&token, &Digest::of(secret.as_bytes()).to_string()).await.unwrap();
        if life == Life::Revoked {
            writing.token_revoke(&of.account, &token.id, now()).await.unwrap();
        }
        writing.commit().await.unwrap();
        ApiToken { id: token.id, secret }
    }

    /// Sends a request and reads the response. A stream is not read.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Reply {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let is_stream = headers
            .get("content-type")
            .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
        let text = if is_stream { String::new() } else { response.text().await.unwrap() };
        Reply { status, headers, text }
    }

    /// A request to be completed.
    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        self.http.request(method, format!("{}{path}", self.base))
    }

    /// Sends a request as a person, without a body.
    pub(crate) async fn ask(&self, token: &str, method: &str, path: &str) -> Reply {
        self.send(self.request(method, path).bearer_auth(token)).await
    }

    /// Sends a request as a person, with a JSON body.
    pub(crate) async fn tell(&self, token: &str, method: &str, path: &str, body: &Value) -> Reply {
        self.send(self.request(method, path).bearer_auth(token).json(body)).await
    }

    pub(crate) async fn get(&self, person: &Person, path: &str) -> Value {
        self.ask(&person.token, "GET", path).await.expect(200)
    }

    /// Registers a work tree as a repository without automatic syncs, and returns its id.
    pub(crate) async fn register(&self, person: &Person, name: &str, work: &WorkTree) -> String {
        let body = json!({"gitops_repository": {"name": name, "repo_url": file_url(work), "enabled": false}});
        let made = self.tell(&person.token, "POST", "/api/v1/system/gitops_repositories", &body).await;
        made.expect(201)["gitops_repository"]["id"].as_str().unwrap().to_owned()
    }

    /// Syncs a repository and returns the run after its comparison.
    pub(crate) async fn sync(&self, person: &Person, repository: &str) -> Value {
        let path = format!("/api/v1/system/gitops_repositories/{repository}/sync_now?wait=60");
        let run = self.ask(&person.token, "POST", &path).await.expect(202)["sync_run"].clone();
        assert_ne!(run["status"], "in_progress", "{run}");
        run
    }
}

/// An API token with its secret.
pub(crate) struct ApiToken {
    pub(crate) id: TokenId,
    pub(crate) secret: String,
}

/// Whether an API token still works.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Good,
    Expired,
    Revoked,
}

/// A repository with a fleet in it.
pub(crate) fn fleet(text: &str) -> WorkTree {
    let work = WorkTree::new();
    work.commit("fleet.yaml", text);
    work
}

pub(crate) fn file_url(work: &WorkTree) -> String {
    format!("file://{}", work.path().display())
}

/// The texts under a key of every item of a list.
pub(crate) fn texts(list: &Value, key: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

/// The same without order.
pub(crate) fn names(list: &Value) -> BTreeSet<String> {
    texts(list, "name").into_iter().collect()
}

/// Every permission, for tokens without restrictions.
pub(crate) static ALL: LazyLock<Vec<Permission>> = LazyLock::new(|| Permission::ALL.to_vec());

/// An event as a client received it.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedEvent {
    pub(crate) id: i64,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

/// An open stream of events.
pub(crate) struct Stream {
    response: reqwest::Response,
    unread: String,
}

impl Stream {
    /// The next event; `None` when the server ended the stream.
    pub(crate) async fn next(&mut self) -> Option<ReceivedEvent> {
        loop {
            while let Some((block, rest)) = self.unread.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.unread = rest;
                if let Some(heard) = read_block(&block) {
                    return Some(heard);
                }
            }
            let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await.unwrap();
            let bytes = chunk.ok().flatten()?;
            self.unread.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }
}

/// One block of a stream; `None` for a keep-alive comment.
fn read_block(block: &str) -> Option<ReceivedEvent> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    Some(ReceivedEvent {
        id: field("id:")?.parse().unwrap(),
        kind: field("event:")?.to_owned(),
        data: serde_json::from_str(field("data:")?).unwrap(),
    })
}

impl Installation {
    /// Opens a stream of events.
    pub(crate) async fn listen(&self, token: &str, query: &str, last: Option<i64>) -> Stream {
        let path = format!("/api/v1/system/fleet_events/stream{query}");
        let mut request = self.request("GET", &path).bearer_auth(token);
        if let Some(last) = last {
            request = request.header("last-event-id", last.to_string());
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        Stream { response, unread: String::new() }
    }

    /// Stores a rollout of these nodes that is over, so that no loop changes it.
    pub(crate) async fn store_rollout(
        &self,
        account: &AccountId,
        nodes: &[(&str, RolloutNodeState)],
    ) -> RolloutId {
        let node = |(name, state): &(&str, RolloutNodeState)| {
            let is_released = *state != RolloutNodeState::Waiting;
            let node = RolloutNode {
                wave: "rest".to_owned(),
                document: Digest::of(name.as_bytes()),
                state: *state,
                message: (*state == RolloutNodeState::Failed).then(|| "exit code 1".to_owned()),
                released_at: is_released.then(now),
                settled_at: None,
            };
            ((*name).to_owned(), node)
        };
        let new = NewRollout {
            governed_by: ResourceKey::new(Kind::Template, "edge-base"),
            rollout: NodeRollout::read_stored(r#"{"max_unavailable":"1"}"#).unwrap(),
            status: RolloutStatus::Running,
            reason: None,
            nodes: nodes.iter().map(node).collect(),
        };
        let mut writing = self.store.write().await.unwrap();
        let id = writing.rollout_start(account, &new, &[], now()).await.unwrap();
        let ended = RolloutUpdate {
            id: id.clone(),
            status: RolloutStatus::Completed,
            reason: None,
            released: BTreeSet::new(),
            changed: BTreeMap::new(),
            counts: nodes.iter().map(|(_, state)| *state).collect(),
            waves_started: BTreeMap::new(),
            hold: Hold::Released,
        };
        writing.rollout_update(account, RolloutStatus::Running, &ended, now()).await.unwrap();
        writing.commit().await.unwrap();
        id
    }

    /// Stores that a host wants to join the first account as this node, and waits for a person.
    pub(crate) async fn store_join(&self, node: &str) {
        let join = NodeJoin {
            id: new_id(),
            account_id: self.account.clone(),
            token_id: new_id(),
            target: ResourceKey::new(Kind::Node, node),
            public_key: Digest::of(node.as_bytes()).to_string().replace("sha256:", ""),
            address: "192.0.2.1".to_owned(),
            state: JoinState::Pending,
            created_at: now(),
            decided_at: None,
            decided_by: None,
        };
        let mut writing = self.store.write_account(&self.account).await.unwrap();
        writing.node_join_add(&join).await.unwrap();
        writing.commit().await.unwrap();
    }

    /// Creates a cluster, the simplest resource.
    pub(crate) async fn make_cluster(&self, person: &Person, name: &str) -> Reply {
        let body = json!({"name": name, "labels": {"made": "by-hand"}});
        self.tell(&person.token, "POST", "/api/v1/system/clusters", &body).await
    }

    /// Reads a proposal and approves exactly that content.
    pub(crate) async fn approve(&self, person: &Person, id: &str) -> Reply {
        let path = format!("/api/v1/system/proposals/{id}");
        let body = json!({"digest": self.get(person, &path).await["proposal"]["digest"]});
        self.tell(&person.token, "POST", &format!("{path}/approve"), &body).await
    }

    /// Applies everything a run proposes, and returns the run.
    pub(crate) async fn apply_all(&self, person: &Person, run: &Value) -> Value {
        let id = run["id"].as_str().unwrap();
        let body = json!({"decision": "approve", "approval_request_id": id});
        let decided =
            self.tell(&person.token, "POST", "/api/v1/system/proposals/batch", &body).await.expect(200);
        assert_eq!(decided["refused"], 0, "{decided}");
        for proposal in texts(&run["proposals"], "id") {
            let path = format!("/api/v1/system/proposals/{proposal}/apply?wait=60");
            let begun = Instant::now();
            loop {
                let applied = self.ask(&person.token, "POST", &path).await.expect(200);
                if applied["proposal"]["status"] == "applied" {
                    break;
                }
                // A change that depends on another is reported at once; the other one is being applied.
                assert_eq!(applied["proposal"]["status"], "approved", "{applied}");
                assert!(begun.elapsed() < TIMEOUT, "{applied}");
            }
        }
        self.get(person, &format!("/api/v1/system/gitops_sync_runs/{id}")).await
    }
}
