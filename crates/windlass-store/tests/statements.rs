//! Frequent statements do not read whole tables: each finds its rows by an index.
//!
//! The test records the statements that the store sends to SQLite and checks their query plans. It is a separate binary
//! because a process can have only one global subscriber.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Mutex;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Row as _};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use windlass_core::diff::Cause;
use windlass_core::digest::Digest;
use windlass_core::enrolment::JoinState;
use windlass_core::event::Severity;
use windlass_core::gate::Contributors;
use windlass_core::host::BlobDigest;
use windlass_core::id;
use windlass_core::plan::StoredStep;
use windlass_core::proposal::{Proposal, Status};
use windlass_core::repository::Repository;
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::run::Run;
use windlass_core::time::Timestamp;
use windlass_store::{
    Address, AgentCertificate, AgentContact, DeliveryAttempt, DeliveryFilter, DeliveryState, EventFilter,
    EventOrder, JoinMove, OwnerFilter, PendingPullRequest, PlanCursor, ProposalFilter, ProposalMove,
    ProposalPosition, ProposalSource, ReportKind, ResourceFilter, ResourceToDestroy, RowBudget, Store,
};

/// Tables that grow with the fleet or with time, and their aliases in statements.
const LARGE: [&str; 35] = [
    "blobs",
    "module_packages",
    "assignment_problems",
    "enrolment_tokens",
    "node_joins",
    "contents",
    "tombstones",
    "agents",
    "assignments",
    "inventory",
    "observed",
    "observed_targets",
    "invitations",
    "audit_checkpoints",
    "plans",
    "plan_steps",
    "approval_sets",
    "resources",
    "resource_references",
    "found",
    "desired",
    "proposals",
    "last",
    "later",
    "run_proposals",
    "approvals",
    "sync_runs",
    "old",
    "events",
    "audit",
    "deliveries",
    "forge_reports",
    "previews",
    "pull_requests",
    "webhook_deliveries",
];

/// Partial indexes of unfinished work, which may be read completely.
const SMALL: [&str; 7] = [
    "audit_checkpoints_unsent",
    "sync_runs_to_open",
    "proposals_to_apply",
    "proposals_blocked",
    "sync_runs_unfinished",
    "deliveries_untold",
    "forge_reports_waiting",
];

static STATEMENTS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Records the text of every statement.
struct StatementRecorder;

struct Statement(String);

impl Visit for Statement {
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}

    fn record_str(&mut self, field: &Field, text: &str) {
        let is_whole = field.name() == "db.statement" && !text.is_empty();
        if is_whole || (field.name() == "summary" && self.0.is_empty()) {
            self.0 = text.trim().to_owned();
        }
    }
}

impl Subscriber for StatementRecorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sqlx::query"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut statement = Statement(String::new());
        event.record(&mut statement);
        STATEMENTS.lock().unwrap().insert(statement.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn frequent_statements_find_their_rows_by_an_index() {
    tracing::subscriber::set_global_default(StatementRecorder).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("windlass.db");
    let store = Store::open(&Address::Sqlite(path.clone())).await.unwrap();
    STATEMENTS.lock().unwrap().clear();
    list(&store).await;
    look_up(&store).await;
    write(&store).await;
    let statements = STATEMENTS.lock().unwrap().clone();
    assert!(statements.len() > 50, "{statements:?}");
    let pool = sqlx::SqlitePool::connect_with(sqlx::sqlite::SqliteConnectOptions::new().filename(&path));
    let pool = pool.await.unwrap();
    let mut scans = Vec::new();
    for statement in statements {
        if !["SELECT", "UPDATE", "DELETE", "WITH"].iter().any(|verb| statement.starts_with(verb)) {
            continue;
        }
        let explained = format!("EXPLAIN QUERY PLAN {statement}");
        for row in sqlx::query(AssertSqlSafe(explained)).fetch_all(&pool).await.unwrap() {
            let step: String = row.get("detail");
            let mut words = step.split(' ');
            let table = (words.next() == Some("SCAN")).then(|| words.next()).flatten();
            let is_small = SMALL.iter().any(|index| step.ends_with(index));
            if table.is_some_and(|table| LARGE.contains(&table)) && !is_small {
                scans.push(format!("{step}: {statement}"));
            }
        }
    }
    assert!(scans.is_empty(), "{}", scans.join("\n"));
}

fn plenty() -> RowBudget {
    RowBudget::new(1_000)
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000)
}

fn key() -> ResourceKey {
    ResourceKey::new(Kind::Node, "edge")
}

fn step() -> StoredStep {
    StoredStep {
        kind: Kind::Node,
        name: "edge".to_owned(),
        cause: Cause::Declared,
        base: None,
        desired: None,
        group: None,
        waits_for: Vec::new(),
    }
}

/// An id of any type.
fn id<T: id::Id>(text: &str) -> T {
    T::from_text(text.to_owned())
}

async fn list(store: &Store) {
    let mut reading = store.read().await.unwrap();
    let text = |text: &str| Some(text.to_owned());
    let all = ResourceFilter::default;
    for filter in [
        all(),
        ResourceFilter { kind: Some(Kind::Node), ..all() },
        ResourceFilter { owner: Some(OwnerFilter::Repository(id("r"))), ..all() },
        ResourceFilter { search: text("x"), ..all() },
    ] {
        for after in [None, Some(&key())] {
            reading.resources_page(&id("a"), &filter, after, 50).await.unwrap();
        }
    }
    let all = ProposalFilter::default;
    for filter in [
        all(),
        ProposalFilter { statuses: vec![Status::PendingApproval], ..all() },
        ProposalFilter { run_id: Some(id("r")), ..all() },
        ProposalFilter { source: Some(ProposalSource::Repository(id("r"))), ..all() },
        ProposalFilter { kind: Some(Kind::Node), name: text("edge"), ..all() },
    ] {
        for before in [None, Some(&id("x"))] {
            reading.proposals(&id("a"), &filter, before, 50).await.unwrap();
        }
        let turn = PlanCursor { run_id: Some(id("r")), position: 1, id: id("x") };
        for after in [None, Some(&turn)] {
            reading.proposals_in_order(&id("a"), &filter, after, 50).await.unwrap();
        }
        reading.proposals_matching(&id("a"), &filter).await.unwrap();
    }
    let all = EventFilter::default;
    for filter in [
        all(),
        EventFilter { kind: text("gitops."), ..all() },
        EventFilter { correlation_id: Some(id("r")), ..all() },
        EventFilter { repository_id: Some(id("r")), ..all() },
        EventFilter { resource: Some(key()), ..all() },
        EventFilter { severity: Some(Severity::High), ..all() },
    ] {
        for order in [EventOrder::NewestBefore(9), EventOrder::OldestAfter(9)] {
            reading.events(&id("a"), &filter, order, 50).await.unwrap();
        }
    }
    for repository in [None, Some(&id("r"))] {
        reading.runs(&id("a"), repository, Some(&id("x")), 50).await.unwrap();
    }
    let all = DeliveryFilter::default;
    for filter in [
        all(),
        DeliveryFilter { provider: text("p"), ..all() },
        DeliveryFilter { state: Some(DeliveryState::Failed), ..all() },
    ] {
        for before in [None, Some(&id("x"))] {
            reading.deliveries(&id("a"), &filter, before, 50).await.unwrap();
        }
    }
    for target in [None, Some(("node", "edge"))] {
        reading.audit(&id("a"), target, 9, 50).await.unwrap();
    }
}

async fn look_up(store: &Store) {
    let mut reading = store.read().await.unwrap();
    reading.resource(&id("a"), &key()).await.unwrap();
    reading.resource_by_id(&id("a"), Kind::Node, &id("x")).await.unwrap();
    reading.resources_count(&id("a")).await.unwrap();
    reading.resource_heads(&id("a")).await.unwrap();
    reading.desired(&id("r")).await.unwrap();
    reading.desired_specs(&id("r"), Some(&[key()])).await.unwrap();
    reading.run(&id("a"), &id("x")).await.unwrap();
    reading.runs_unfinished().await.unwrap();
    reading.run_queued(&id("r")).await.unwrap();
    reading.proposal(&id("a"), &id("x")).await.unwrap();
    reading.run_proposals(&id("x")).await.unwrap();
    reading.run_outcomes(&id("a"), &id("x")).await.unwrap();
    reading.run_of_last_commit(&id("a"), &id("r")).await.unwrap();
    reading.forge_reports(&id("a"), &id("r"), ReportKind::Status, 9).await.unwrap();
    reading.forge_reports_due(now(), now(), 9).await.unwrap();
    reading.runs_of_proposals(&[&id("x"), &id("y")]).await.unwrap();
    reading.proposals_by_id(&id("a"), &[&id("x"), &id("y")]).await.unwrap();
    reading.proposals_open_of(&id("r")).await.unwrap();
    reading.proposals_rejected(&id("r")).await.unwrap();
    let turn =
        reading.proposals_to_apply(&id("a"), None, 50).await.unwrap().first().map(Proposal::apply_order);
    reading.proposals_to_apply(&id("a"), turn.as_ref(), 50).await.unwrap();
    reading.proposals_blocked(&id("a")).await.unwrap();
    reading.differing_resources(&id("a"), &id("r")).await.unwrap();
    reading.resources_of(&id("a"), &[key(), key()]).await.unwrap();
    reading.resource_heads_of(&id("a"), &[key(), key()]).await.unwrap();
    reading.referrers(&id("a"), &[key(), key()]).await.unwrap();
    reading.accounts_to_apply().await.unwrap();
    reading.proposals_expired(now()).await.unwrap();
    reading.proposals_count(&id("a")).await.unwrap();
    reading.approvals(&id("x")).await.unwrap();
    reading.approvals_of(&[&id("x"), &id("y")]).await.unwrap();
    reading.proposals_tally(&id("a")).await.unwrap();
    reading.referrers_of(&id("a"), &key(), 9).await.unwrap();
    reading.drifts_count(&id("a")).await.unwrap();
    reading.resources_tally(&id("a"), &ResourceFilter::default()).await.unwrap();
    reading.resources_in(&id("a"), Kind::Peer, "fabric").await.unwrap();
    reading.referrers_count(&id("a"), &[key(), key()]).await.unwrap();
    reading.drifted_among(&[(&id("r"), &key())]).await.unwrap();
    reading.acceptances_among(&[(&id("r"), &key())]).await.unwrap();
    reading.differing_resource(&id("a"), &id("r"), &key()).await.unwrap();
    reading.desired_file(&id("r"), &key()).await.unwrap();
    reading.desired_files(&id("r"), &[key(), key()]).await.unwrap();
    reading.resource_files(&id("a"), &[key()]).await.unwrap();
    reading.run_last_stopped(&id("a"), &id("r")).await.unwrap();
    reading.proposals_about(&id("a"), &[key(), key()]).await.unwrap();
    reading.preview(&id("a"), &id("x")).await.unwrap();
    reading.previews(&id("a"), &id("r"), 50).await.unwrap();
    reading.audit_verify(&id("a")).await.unwrap();
    reading.checkpoints(&id("a"), 9, 1).await.unwrap();
    reading.checkpoints_unsent(9).await.unwrap();
    reading.invitations(&id("a"), now()).await.unwrap();
    reading.invitations_to("a@b", now()).await.unwrap();
    reading.repository_of_webhook("acme:fleet").await.unwrap();
    reading.webhook(&id("r")).await.unwrap();
    reading.accounts_with_backlog().await.unwrap();
    reading.event_before(&id("a"), now()).await.unwrap();
    reading.deliveries_of_groups(&id("a"), &["x", "y"], now()).await.unwrap();
    reading.deliveries_count(&id("a"), now()).await.unwrap();
    reading.deliveries_without_digest().await.unwrap();
    reading.deliveries_due(now(), 50).await.unwrap();
    reading.delivery(&id("a"), &id("x")).await.unwrap();
    reading.pull_requests_due(now(), now(), 50).await.unwrap();
    reading.plan_newest(&id("r")).await.unwrap();
    reading.plan_of_run(&id("a"), &id("x")).await.unwrap();
    reading.plan_steps(&id("x")).await.unwrap();
    reading.plan_steps_from(&id("x"), 9).await.unwrap();
    reading.plans_unopened(&id("a")).await.unwrap();
    reading.steps_applied(&id("r"), &[step()]).await.unwrap();
    reading.desired_of(&id("r"), &[key(), key()]).await.unwrap();
    reading.audit_last_changes(&id("a"), &[key(), key()]).await.unwrap();
    reading.tombstones(&id("a"), &key()).await.unwrap();
    reading.agent_of(&id("a"), &key()).await.unwrap();
    reading.agents(&id("a")).await.unwrap();
    reading.agent(&id("a")).await.unwrap();
    reading.agents_with_ids(&[id("a"), id("b")]).await.unwrap();
    reading.agents_revoked_since(now()).await.unwrap();
    reading.assignments_since(now()).await.unwrap();
    reading.enrolment_token_by_hash("hash").await.unwrap();
    reading.enrolment_tokens(&id("a"), now(), 10).await.unwrap();
    reading.node_join(&id("a"), &id("j")).await.unwrap();
    reading.node_joins(&id("a"), 10).await.unwrap();
    reading.node_joins_of(&id("a"), &key(), 10).await.unwrap();
    reading.assignment(&id("a"), &key()).await.unwrap();
    reading.assignments(&id("a")).await.unwrap();
    reading.assignment_to_sign(&id("a"), &key()).await.unwrap();
    let targets = [(id("a"), key()), (id("b"), key())];
    reading.assignments_of(&targets).await.unwrap();
    reading.assignments_to_sign(&targets).await.unwrap();
    reading.assignment_problems(&id("a")).await.unwrap();
    reading.assignment_problem(&id("a"), &key()).await.unwrap();
    reading.approved_resources(&id("a"), &[Kind::Node, Kind::Module]).await.unwrap();
    reading.module_packages(&id("a")).await.unwrap();
    reading.package_files(&[BlobDigest::of(b"x")]).await.unwrap();
    reading.blob(BlobDigest::of(b"x")).await.unwrap();
    reading.inventory(&id("a"), &key()).await.unwrap();
    reading.observed(&id("a"), &key()).await.unwrap();
    reading.observed_targets(&id("a")).await.unwrap();
    reading.approval_sets_in_force(&id("r")).await.unwrap();
    reading.approval_sets_in_force_by(&id("a"), "ada@example.com").await.unwrap();
    reading.approval_sets_of(&id("x")).await.unwrap();
    reading.approval_sets_used(&[&id("x"), &id("y")], &[Digest::of(b"x")]).await.unwrap();
}

async fn write(store: &Store) {
    let mut writing = store.write().await.unwrap();
    writing.account_add(&id("a"), "acme", now()).await.unwrap();
    writing.commit().await.unwrap();
    let mut writing = store.write_account(&id("a")).await.unwrap();
    let spec = Spec::read(Kind::Node, r#"{"template": "edge"}"#).spec.unwrap();
    writing.resource_put(&key(), &spec, None, "ada", now()).await.unwrap();
    let ended = ResourceToDestroy { key: &key(), by: "ada" };
    writing.resource_remove(ended, now()).await.unwrap();
    writing.tombstones_delete_old(now(), &mut plenty()).await.unwrap();
    writing.enrolment_tokens_delete_old(now(), &mut plenty()).await.unwrap();
    writing.node_joins_delete_old(now(), &mut plenty()).await.unwrap();
    let agent = writing.agent_enrol(&key(), now()).await.unwrap();
    writing.agent_contact(&agent.id, now()).await.unwrap();
    let contact = AgentContact { id: agent.id.clone(), at: now() };
    writing.agents_contacted(&[contact]).await.unwrap();
    let certificate = AgentCertificate { agent_version: "1", serial: "00", expires_at: now() };
    writing.agent_certified(&agent.id, certificate).await.unwrap();
    writing.enrolment_token_use(&id("t"), now()).await.unwrap();
    writing.enrolment_token_revoke(&id("a"), &id("t"), now()).await.unwrap();
    let step = JoinMove { from: JoinState::Pending, to: JoinState::Approved, by: "ada", at: now() };
    writing.node_join_move(&id("j"), step).await.unwrap();
    writing.inventory_remove(&id("a"), &key(), &[&id("x")]).await.unwrap();
    writing.resources_disown(&id("r")).await.unwrap();
    writing.desired_mark_agreed(&id("r")).await.unwrap();
    writing.desired_mark_agreed_among(&[(&id("r"), &key(), None)]).await.unwrap();
    let moved = ProposalMove {
        from: Status::PendingApproval,
        to: Status::Approved,
        reason: None,
        decided_by: None,
        until_change: false,
        at: now(),
    };
    writing.proposal_move(&id("x"), &moved).await.unwrap();
    writing.proposal_edit(&id("x"), 1, None, &Contributors::default()).await.unwrap();
    writing.approvals_lapse(&id("a"), "ada@example.com", "they left").await.unwrap();
    let x = id("x");
    let placed = ProposalPosition {
        id: &x,
        position: 1,
        cause: Cause::Edited,
        waits_for: Vec::new(),
        blocked_by: Vec::new(),
    };
    writing.proposals_set_positions(&[placed]).await.unwrap();
    writing.proposals_set_blockers(&[(id("x"), Vec::new())]).await.unwrap();
    writing.acceptances_remove(&[(&id("r"), &key())]).await.unwrap();
    writing.run_begin(&id("x"), now()).await.unwrap();
    let fleet = Repository::new(id("r"), &id("a"), ("fleet", "https://git.example.com/fleet"), now());
    writing.run_finish(&Run::queued(id("x"), &fleet, now())).await.unwrap();
    writing.events_delete_old(now(), now(), &mut plenty()).await.unwrap();
    writing.webhook_deliveries_delete_old(now(), &mut plenty()).await.unwrap();
    writing.repository_sync_by(&id("r"), now()).await.unwrap();
    writing.previews_delete_old(now(), &mut plenty()).await.unwrap();
    let attempt = DeliveryAttempt { state: DeliveryState::Sent, next_at: now(), error: None, at: now() };
    writing.delivery_record_attempt(&id("x"), &attempt).await.unwrap();
    writing.delivery_add_repeats(&id("x"), 1).await.unwrap();
    writing.delivery_retry(&id("a"), &id("x"), now()).await.unwrap();
    writing.deliveries_mark_digested(&id("a"), "p", &id("x")).await.unwrap();
    writing.deliveries_delete_old(now(), &mut plenty()).await.unwrap();
    let pending = PendingPullRequest {
        account_id: id("a"),
        repository_id: id("r"),
        number: 7,
        reference: "refs/pull/7/head".to_owned(),
        commit_sha: "c".to_owned(),
        attempts: 0,
    };
    writing.pull_request_reschedule(&pending, now()).await.unwrap();
    writing.pull_request_delete(&pending).await.unwrap();
    writing.pull_request_delete_closed(&id("r"), 7).await.unwrap();
    writing.forge_reports_retry(&id("r"), now()).await.unwrap();
    writing.forge_reports_delete_old(now(), &mut plenty()).await.unwrap();
    writing.plan_confirm(&id("x"), "c").await.unwrap();
    writing.run_set_plan(&id("x"), None, None).await.unwrap();
    writing.plans_delete_old(now(), &mut plenty()).await.unwrap();
    writing.approval_set_move_to_plan(&id("x"), &id("y")).await.unwrap();
    writing.approval_set_lapse(&id("x"), "moved", now()).await.unwrap();
    writing.proposals_set_expiry(&[(&id("x"), now())]).await.unwrap();
    writing.repository_remove(&id("r")).await.unwrap();
    writing.commit().await.unwrap();
    store.lease_take("sync", &id("me"), now(), Duration::from_secs(1)).await.unwrap();
}
