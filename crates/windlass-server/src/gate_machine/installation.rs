//! A server without loops and network, and its accounts, each for one sequence.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use Permission::{FleetRead, FleetWrite, GitopsAdmin, GitopsRead, GitopsSync, GitopsWrite};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;
use windlass_api::permission::{Permission, Role};
use windlass_control::agents::authority::AgentAuthority;
use windlass_control::clock::now;
use windlass_control::control::{Control, ControlParts};
use windlass_control::keys::admit::take_keys;
use windlass_control::keys::signed_heads::SignedHeads;
use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, RepositoryId, UserId};
use windlass_core::redacted::Redacted;
use windlass_core::resource::ResourceKey;
use windlass_store::{Address, Session, Store, Token, User, new_id, unique_text};

use crate::config::Config;
use crate::gate_machine::oracle::OracleSettings;
use crate::routes;
use crate::state::Server;

/// A caller who sends requests.
#[derive(Clone, Debug)]
pub(crate) struct TestCaller {
    pub(crate) what: &'static str,
    pub(crate) email: String,
    pub(crate) bearer: String,
    pub(crate) may_approve: bool,
}

/// A caller that every account has: a description, the person, their role, and the permissions of a token if they use one.
type CallerSpec = (&'static str, &'static str, Role, Option<&'static [Permission]>);

const CALLERS: &[CallerSpec] = &[
    ("the admin", "ann@example.com", Role::Admin, None),
    ("the approver", "ben@example.com", Role::Approver, None),
    ("an operator", "cy@example.com", Role::Operator, None),
    ("a viewer", "vi@example.com", Role::Viewer, None),
    ("an operator's token", "cy@example.com", Role::Operator, Some(&[GitopsRead, GitopsWrite, GitopsSync])),
    (
        "an admin's token for the fleet",
        "dan@example.com",
        Role::Admin,
        Some(&[GitopsRead, GitopsWrite, GitopsSync, FleetRead, FleetWrite]),
    ),
    (
        "an admin's token that administers",
        "dan@example.com",
        Role::Admin,
        Some(&[GitopsRead, GitopsAdmin, GitopsWrite, FleetWrite]),
    ),
];

pub(crate) struct Installation {
    pub(crate) server: Server,
    router: Router,
    pub(crate) users: BTreeMap<&'static str, UserId>,
    _directory: TempDir,
}

/// A temporary directory, in memory where that is possible: the test is not about the disk.
fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a temporary directory can be made")
}

impl Installation {
    /// An installation with this cap of open proposals.
    pub(crate) async fn new(cap: usize) -> Installation {
        let directory = directory();
        let mut config = Config::in_directory(directory.path());
        config.control.max_proposals = cap;
        let Address::Sqlite(path) = &config.database else { unreachable!("a server has a file by default") };
        let store = Store::open(&Address::Sqlite(path.clone())).await.expect("a new database");
        let guard = windlass_outbound::AddressGuard::new(config.control.address_rules());
        let sender = windlass_notify::NotificationSender::new(config.control.insecure_notifications, &guard)
            .expect("a sender");
        let keys =
            take_keys(&store, &config.secret_key, &config.control.data_dir, now()).await.expect("a new key");
        let authority = AgentAuthority::new(&keys).expect("any key makes an authority");
        let signed_heads = SignedHeads::read(&config.control.data_dir).expect("a directory that can be read");
        let control = Control::new(
            config.control.clone(),
            ControlParts { store, keys, authority, signed_heads, sender },
        );
        let server = Server::new(config, control, None);
        let mut users = BTreeMap::new();
        let mut writing = server.store().write().await.expect("a database");
        for (_, email, _, _) in CALLERS {
            if users.contains_key(email) {
                continue;
            }
            let user = User {
                id: new_id(),
                email: (*email).to_owned(),
                name: (*email).to_owned(),
                password_hash: Redacted::new("no password has this hash".to_owned()),
                must_change_password: false,
                is_root: false,
                disabled_at: None,
                created_at: now(),
            };
            writing.user_add(&user).await.expect("a new user");
            users.insert(*email, user.id);
        }
        writing.commit().await.expect("a commit");
        let router = routes::router(&server);
        Installation { server, router, users, _directory: directory }
    }

    /// A new account, with all callers.
    pub(crate) async fn account(&self, name: &str) -> (AccountId, Vec<TestCaller>) {
        let account: AccountId = new_id();
        let mut writing = self.server.store().write().await.expect("a database");
        writing.account_add(&account, name, now()).await.expect("a new account");
        let mut callers = Vec::new();
        let until = now().plus(Duration::from_secs(24 * 3600));
        for (what, email, role, permissions) in CALLERS {
            let user_id = &self.users[email];
            writing.member_set(&account, user_id, *role, now()).await.expect("a member");
            let bearer = match permissions {
                None => {
                    let session = Session {
                        id: new_id(),
                        user_id: user_id.clone(),
                        account_id: account.clone(),
                        address: String::new(),
                        created_at: now(),
                        expires_at: until,
                    };
                    writing.session_add(&session).await.expect("a session");
                    let claims = json!({"aud": "windlass", "sub": user_id, "sid": session.id, "iat": 1,
                        "exp": until.as_millis() / 1000});
                    let key = EncodingKey::from_secret(self.server.keys().signing_key());
                    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key).expect("a JWT")
                }
                Some(permissions) => {
                    let secret = format!("wlt_{}", unique_text());
                    let token = Token {
                        id: new_id(),
                        account_id: account.clone(),
                        name: "a token".to_owned(),
                        permissions: permissions.iter().map(|it| it.slug().to_owned()).collect(),
                        created_by: user_id.clone(),
                        created_at: now(),
                        expires_at: Some(until),
                        last_used_at: Some(now()),
                        revoked_at: None,
                    };
                    let hash = Digest::of(secret.as_bytes()).to_string();
                    writing.token_add(&token, &hash).await.expect("a token");
                    secret
                }
            };
            let may_approve =
                permissions.is_none() && role.permissions().contains(&Permission::GitopsApprove);
            callers.push(TestCaller { what, email: (*email).to_owned(), bearer, may_approve });
        }
        writing.commit().await.expect("a commit");
        (account, callers)
    }

    /// Sends a request and reads the response.
    pub(crate) async fn send(
        &self,
        caller: &TestCaller,
        (method, path, body): (&str, &str, &Value),
    ) -> (u16, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", caller.bearer))
            .header("content-type", "application/json")
            .body(Body::from(body.to_string()))
            .expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("the router never fails");
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    /// The accepted resources of an account: digest and owner.
    pub(super) async fn accepted(
        &self,
        account: &AccountId,
    ) -> BTreeMap<ResourceKey, (Digest, Option<RepositoryId>)> {
        let mut reading = self.server.store().read().await.expect("a database");
        let heads = reading.resource_heads(account).await.expect("resources");
        heads.into_iter().map(|head| (head.key, (head.digest, head.owner_id))).collect()
    }

    /// The settings of an account's repositories.
    pub(super) async fn settings(&self, account: &AccountId) -> BTreeMap<RepositoryId, OracleSettings> {
        let mut reading = self.server.store().read().await.expect("a database");
        let repositories = reading.repositories(account).await.expect("repositories");
        repositories
            .into_iter()
            .map(|it| {
                let source = source_of(&it.repo_url, &it.branch, &it.path_prefix);
                let settings =
                    OracleSettings { name: it.name, source, signers: it.signers, auto_apply: it.auto_apply };
                (it.id, settings)
            })
            .collect()
    }
}

/// The source of a repository, or of a push, as a text.
pub(super) fn source_of(url: &str, branch: &str, prefix: &str) -> String {
    format!("{url} {branch} {prefix}")
}
