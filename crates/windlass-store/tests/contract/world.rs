//! A fresh database of either kind, direct access to it without the store, and test data.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sqlx::{AssertSqlSafe, Row as _};
use tempfile::TempDir;
use windlass_core::diff::{Cause, Change};
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::gate::{Contributor, ContributorRole};
use windlass_core::id::{AccountId, RepositoryId, RunId};
use windlass_core::proposal::{BlockedBy, Proposal, Status};
use windlass_core::redacted::Redacted;
use windlass_core::repository::Repository;
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::run::Run;
use windlass_core::time::Timestamp;
use windlass_store::{
    Actor, Address, AuditEntry, Outcome, ResourceToDestroy, RowBudget, Store, User, new_id,
};
use windlass_testkit::servers::Postgres;

/// A store on a fresh database.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) address: Address,
    raw: Raw,
    pub(crate) directory: Arc<TempDir>,
}

/// Direct access to the database, without the store and its rules.
pub(crate) enum Raw {
    Sqlite(sqlx::SqlitePool),
    Postgres(sqlx::PgPool),
}

impl Raw {
    /// Connects at the first use. Does not enforce foreign keys in SQLite.
    pub(crate) fn connect(address: &Address) -> Raw {
        match address {
            Address::Sqlite(path) => {
                let options = sqlx::sqlite::SqliteConnectOptions::new()
                    .filename(path)
                    .create_if_missing(true)
                    .foreign_keys(false)
                    .busy_timeout(Duration::from_secs(15));
                Raw::Sqlite(sqlx::SqlitePool::connect_lazy_with(options))
            }
            Address::Postgres(url) => Raw::Postgres(sqlx::PgPool::connect_lazy(url.expose()).unwrap()),
        }
    }

    /// Executes a statement and returns how many rows it affected.
    pub(crate) async fn execute(&self, sql: &str) -> u64 {
        let query = AssertSqlSafe(sql.to_owned());
        match self {
            Raw::Sqlite(pool) => sqlx::query(query).execute(pool).await.unwrap().rows_affected(),
            Raw::Postgres(pool) => sqlx::query(query).execute(pool).await.unwrap().rows_affected(),
        }
    }

    /// Executes statements in one transaction.
    pub(crate) async fn execute_all(&self, statements: &[String]) {
        let script = AssertSqlSafe(format!("BEGIN; {}; COMMIT", statements.join("; ")));
        match self {
            Raw::Sqlite(pool) => drop(sqlx::raw_sql(script).execute(pool).await.unwrap()),
            Raw::Postgres(pool) => drop(sqlx::raw_sql(script).execute(pool).await.unwrap()),
        }
    }

    /// The column `answer` of the rows of a statement, as text.
    pub(crate) async fn ask(&self, sql: &str) -> Vec<String> {
        let query = AssertSqlSafe(sql.to_owned());
        match self {
            Raw::Sqlite(pool) => {
                let rows = sqlx::query(query).fetch_all(pool).await.unwrap();
                rows.iter().map(|row| row.get::<String, _>("answer")).collect()
            }
            Raw::Postgres(pool) => {
                let rows = sqlx::query(query).fetch_all(pool).await.unwrap();
                rows.iter().map(|row| row.get::<String, _>("answer")).collect()
            }
        }
    }
}

/// Runs a case on both databases, each time with a fresh one.
pub(crate) fn on_both<F: Future<Output = ()>>(case: impl Fn(World) -> F) {
    on_sqlite(&case);
    on_postgres(&case);
}

pub(crate) fn on_sqlite<F: Future<Output = ()>>(case: impl Fn(World) -> F) {
    runtime().block_on(async {
        // A case that does not use the directory would drop it too early.
        let directory = Arc::new(tempfile::tempdir().unwrap());
        let path = directory.path().join("windlass.db");
        let address = Address::Sqlite(path);
        let store = Store::open(&address).await.unwrap();
        let raw = Raw::connect(&address);
        case(World { store, address, raw, directory: Arc::clone(&directory) }).await;
    });
}

pub(crate) fn on_postgres<F: Future<Output = ()>>(case: impl Fn(World) -> F) {
    let Some(server) = Postgres::shared() else { return };
    let url = server.fresh_database();
    runtime().block_on(async {
        let address = Address::Postgres(Redacted::new(url));
        let store = Store::open(&address).await.unwrap();
        let raw = Raw::connect(&address);
        let directory = Arc::new(tempfile::tempdir().unwrap());
        case(World { store: store.clone(), address, raw, directory }).await;
        store.close().await;
    });
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

/// A budget larger than the number of rows in any case.
pub(crate) fn plenty() -> RowBudget {
    RowBudget::new(100_000)
}

/// A time, in seconds after a fixed start.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + seconds * 1000)
}

impl World {
    /// Executes a statement directly on the database, without the store; does not enforce foreign keys in SQLite.
    pub(crate) async fn tamper(&self, sql: &str) -> u64 {
        self.raw.execute(sql).await
    }

    /// The column `answer` of the rows of a statement, as text.
    pub(crate) async fn ask(&self, sql: &str) -> Vec<String> {
        self.raw.ask(sql).await
    }

    /// Adds an account and returns its id.
    pub(crate) async fn account(&self, name: &str) -> AccountId {
        let id = new_id();
        let mut writing = self.store.write().await.unwrap();
        writing.account_add(&id, name, at(0)).await.unwrap();
        writing.commit().await.unwrap();
        id
    }

    /// Adds a repository.
    pub(crate) async fn repository(&self, account_id: &AccountId, name: &str) -> Repository {
        let repository = repository(account_id, name);
        let mut writing = self.store.write().await.unwrap();
        writing.repository_add(&repository).await.unwrap();
        writing.commit().await.unwrap();
        repository
    }

    /// Adds a person.
    pub(crate) async fn user(&self, email: &str) -> User {
        let user = user(email);
        let mut writing = self.store.write().await.unwrap();
        writing.user_add(&user).await.unwrap();
        writing.commit().await.unwrap();
        user
    }

    /// Adds a finished run.
    pub(crate) async fn run(&self, repository: &Repository) -> Run {
        let mut run = Run::queued(new_id(), repository, at(0));
        let mut writing = self.store.write().await.unwrap();
        assert!(writing.run_add(&run).await.unwrap());
        run.status = windlass_core::run::RunStatus::DiffReady;
        run.completed_at = Some(at(1));
        assert!(writing.run_finish(&run).await.unwrap());
        writing.commit().await.unwrap();
        run
    }

    /// Opens proposals of a run that create nodes with these names.
    pub(crate) async fn proposals(&self, run: &Run, names: &[&str]) -> Vec<Proposal> {
        let proposals: Vec<Proposal> =
            names.iter().enumerate().map(|(position, name)| proposal(run, position, name)).collect();
        let mut writing = self.store.write().await.unwrap();
        writing.proposals_add(&proposals).await.unwrap();
        writing.commit().await.unwrap();
        proposals
    }

    /// Adds an accepted node.
    pub(crate) async fn node(&self, account_id: &AccountId, name: &str, owner: Option<&RepositoryId>) {
        let mut writing = self.store.write_account(account_id).await.unwrap();
        writing.resource_put(&node_key(name), &node("eu"), owner, "ada", at(1)).await.unwrap();
        writing.commit().await.unwrap();
    }

    /// Adds events to an account, one transaction each.
    pub(crate) async fn events(&self, account_id: &AccountId, messages: &[&str]) {
        for message in messages {
            let mut writing = self.store.write_account(account_id).await.unwrap();
            writing.event(event(message));
            writing.commit().await.unwrap();
        }
    }

    /// Adds audit entries about targets to an account, one transaction each.
    pub(crate) async fn audited(&self, account_id: &AccountId, targets: &[&str]) {
        for target in targets {
            let mut writing = self.store.write_account(account_id).await.unwrap();
            writing.audit(entry(target));
            writing.commit().await.unwrap();
        }
    }
}

pub(crate) fn repository(account_id: &AccountId, name: &str) -> Repository {
    let place = (name, "https://git.example.com/fleet.git");
    let plain = Repository::new(new_id(), account_id, place, at(0));
    Repository { credential_path: Some("vault:git".to_owned()), ..plain }
}

pub(crate) fn user(email: &str) -> User {
    User {
        id: new_id(),
        email: email.to_owned(),
        name: "Ada".to_owned(),
        password_hash: Redacted::new("hash".to_owned()),
        must_change_password: false,
        is_root: false,
        disabled_at: None,
        created_at: at(0),
    }
}

pub(crate) fn node_key(name: &str) -> ResourceKey {
    ResourceKey::new(Kind::Node, name)
}

/// A resource that ada destroys.
pub(crate) fn ended(key: &ResourceKey) -> ResourceToDestroy<'_> {
    ResourceToDestroy { key, by: "ada" }
}

pub(crate) fn node(region: &str) -> Spec {
    let text = json!({ "template": "edge", "region": region }).to_string();
    Spec::read(Kind::Node, &text).spec.unwrap()
}

pub(crate) fn template() -> Spec {
    Spec::read(Kind::Template, r#"{"node_platform": "debian-12-amd64"}"#).spec.unwrap()
}

pub(crate) fn proposal(run: &Run, position: usize, name: &str) -> Proposal {
    let spec = Arc::new(node("eu"));
    Proposal {
        id: new_id(),
        account_id: run.account_id.clone(),
        repository_id: Some(run.repository_id.clone()),
        repository_name: run.repository_name.clone(),
        run_id: Some(run.id.clone()),
        change: Change {
            key: node_key(name),
            cause: Cause::Declared,
            before: None,
            base: None,
            desired: Some(spec.digest()),
            after: Some(spec),
        },
        position,
        edit: None,
        commit_sha: "c0ffee".to_owned(),
        author: Some("ada@example.com".to_owned()),
        contributors: Contributor::new(ContributorRole::Author, "ada@example.com").into_iter().collect(),
        owner_id: None,
        direct_reason: None,
        previous_file: Some("old.yaml".to_owned()),
        declared_at: Some(("fleet.yaml".to_owned(), 7)),
        status: Status::PendingApproval,
        blocked_by: vec![BlockedBy::MissingResource { key: ResourceKey::new(Kind::Template, "edge") }],
        waits_for: Vec::new(),
        reason: None,
        decided_by: None,
        until_change: false,
        opened_at: at(2),
        expires_at: at(1000),
        decided_at: None,
        closed_at: None,
        version: 1,
    }
}

pub(crate) fn event(message: &str) -> NewEvent {
    NewEvent {
        kind: EventKind::ProposalOpened,
        severity: Severity::Low,
        resource: Some(node_key("edge-01")),
        repository_id: Some(RepositoryId::new("repository")),
        correlation_id: Some(RunId::new("run")),
        source: "ada@example.com".to_owned(),
        message: message.to_owned(),
        payload: json!({ "message": message }),
        at: at(5),
    }
}

pub(crate) fn entry(target: &str) -> AuditEntry {
    AuditEntry {
        actor: Actor::windlass(),
        action: "proposal.approve",
        target_kind: "node".to_owned(),
        target: target.to_owned(),
        outcome: Outcome::Done,
        before: None,
        after: Some(node("eu").digest()),
        detail: json!({ "why": "because" }),
        at: at(5),
    }
}
