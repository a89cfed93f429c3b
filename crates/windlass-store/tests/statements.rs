//! No statement that runs often reads a whole table: each finds its rows by an index.
//!
//! What the store really says to SQLite is overheard and explained. A binary of its own, because only one can listen.
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
use windlass_core::event::Severity;
use windlass_core::gate::Contributors;
use windlass_core::plan::StoredStep;
use windlass_core::proposal::{Proposal, Status};
use windlass_core::repository::Repository;
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::run::Run;
use windlass_core::time::Timestamp;
use windlass_store::{
    Address, DeliveryAttempt, DeliveryFilter, DeliveryState, EndedResource, EventFilter, EventOrder,
    PendingPullRequest, PlanCursor, ProposalFilter, ProposalMove, ProposalPosition, ReportKind,
    ResourceFilter, RowBudget, Store,
};

/// Tables that grow with the fleet or with time, and what statements call them.
const LARGE: [&str; 30] = [
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

/// Indexes that hold only what is under way, and may be read from end to end.
const SMALL: [&str; 7] = [
    "audit_checkpoints_unsent",
    "sync_runs_to_open",
    "proposals_to_apply",
    "proposals_blocked",
    "sync_runs_unfinished",
    "deliveries_untold",
    "forge_reports_waiting",
];

static HEARD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Remembers the text of every statement.
struct Listener;

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

impl Subscriber for Listener {
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
        HEARD.lock().unwrap().insert(statement.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn what_runs_often_finds_its_rows_by_an_index() {
    tracing::subscriber::set_global_default(Listener).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("windlass.db");
    let store = Store::open(&Address::Sqlite(path.clone())).await.unwrap();
    HEARD.lock().unwrap().clear();
    list(&store).await;
    look_up(&store).await;
    write(&store).await;
    let heard = HEARD.lock().unwrap().clone();
    assert!(heard.len() > 50, "{heard:?}");
    let pool = sqlx::SqlitePool::connect_with(sqlx::sqlite::SqliteConnectOptions::new().filename(&path));
    let pool = pool.await.unwrap();
    let mut scans = Vec::new();
    for statement in heard {
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

async fn list(store: &Store) {
    let mut reading = store.read().await.unwrap();
    let text = |text: &str| Some(text.to_owned());
    let all = ResourceFilter::default;
    for filter in [
        all(),
        ResourceFilter { kind: Some(Kind::Node), ..all() },
        ResourceFilter { owner_id: text("r"), ..all() },
        ResourceFilter { search: text("x"), ..all() },
    ] {
        for after in [None, Some(&key())] {
            reading.resources_page("a", &filter, after, 50).await.unwrap();
        }
    }
    let all = ProposalFilter::default;
    for filter in [
        all(),
        ProposalFilter { statuses: vec![Status::PendingApproval], ..all() },
        ProposalFilter { run_id: text("r"), ..all() },
        ProposalFilter { repository_id: text("r"), ..all() },
        ProposalFilter { kind: Some(Kind::Node), name: text("edge"), ..all() },
    ] {
        for before in [None, Some("x")] {
            reading.proposals("a", &filter, before, 50).await.unwrap();
        }
        let turn = PlanCursor { run_id: "r".to_owned(), position: 1, id: "x".to_owned() };
        for after in [None, Some(&turn)] {
            reading.proposals_in_order("a", &filter, after, 50).await.unwrap();
        }
        reading.proposals_matching("a", &filter).await.unwrap();
    }
    let all = EventFilter::default;
    for filter in [
        all(),
        EventFilter { kind: text("gitops."), ..all() },
        EventFilter { correlation_id: text("r"), ..all() },
        EventFilter { repository_id: text("r"), ..all() },
        EventFilter { resource: Some(key()), ..all() },
        EventFilter { severity: Some(Severity::High), ..all() },
    ] {
        for order in [EventOrder::NewestBefore(9), EventOrder::OldestAfter(9)] {
            reading.events("a", &filter, order, 50).await.unwrap();
        }
    }
    for repository in [None, Some("r")] {
        reading.runs("a", repository, Some("x"), 50).await.unwrap();
    }
    let all = DeliveryFilter::default;
    for filter in [
        all(),
        DeliveryFilter { provider: text("p"), ..all() },
        DeliveryFilter { state: Some(DeliveryState::Failed), ..all() },
    ] {
        for before in [None, Some("x")] {
            reading.deliveries("a", &filter, before, 50).await.unwrap();
        }
    }
    for target in [None, Some(("node", "edge"))] {
        reading.audit("a", target, 9, 50).await.unwrap();
    }
}

async fn look_up(store: &Store) {
    let mut reading = store.read().await.unwrap();
    reading.resource("a", &key()).await.unwrap();
    reading.resource_by_id("a", Kind::Node, "x").await.unwrap();
    reading.resources_count("a").await.unwrap();
    reading.resource_heads("a").await.unwrap();
    reading.desired("r").await.unwrap();
    reading.desired_specs("r", Some(&[key()])).await.unwrap();
    reading.run("a", "x").await.unwrap();
    reading.runs_unfinished().await.unwrap();
    reading.run_queued("r").await.unwrap();
    reading.proposal("a", "x").await.unwrap();
    reading.run_proposals("x").await.unwrap();
    reading.run_outcomes("a", "x").await.unwrap();
    reading.run_of_last_commit("a", "r").await.unwrap();
    reading.forge_reports("a", "r", ReportKind::Status, 9).await.unwrap();
    reading.forge_reports_due(now(), now(), 9).await.unwrap();
    reading.runs_of_proposals(&["x", "y"]).await.unwrap();
    reading.proposals_by_id("a", &["x", "y"]).await.unwrap();
    reading.proposals_open_of("r").await.unwrap();
    reading.proposals_rejected("r").await.unwrap();
    let turn = reading.proposals_to_apply("a", None, 50).await.unwrap().first().map(Proposal::apply_order);
    reading.proposals_to_apply("a", turn.as_ref(), 50).await.unwrap();
    reading.proposals_blocked("a").await.unwrap();
    reading.differing("a", "r").await.unwrap();
    reading.resources_of("a", &[key(), key()]).await.unwrap();
    reading.resource_heads_of("a", &[key(), key()]).await.unwrap();
    reading.referrers("a", &[key(), key()]).await.unwrap();
    reading.accounts_to_apply().await.unwrap();
    reading.proposals_expired(now()).await.unwrap();
    reading.proposals_count("a").await.unwrap();
    reading.approvals("x").await.unwrap();
    reading.approvals_of(&["x", "y"]).await.unwrap();
    reading.proposals_tally("a").await.unwrap();
    reading.referrers_of("a", &key(), 9).await.unwrap();
    reading.drifts_count("a").await.unwrap();
    reading.resources_tally("a", &ResourceFilter::default()).await.unwrap();
    reading.resources_in("a", Kind::Peer, "fabric").await.unwrap();
    reading.referrers_count("a", &[key(), key()]).await.unwrap();
    reading.drifted_among(&[("r", &key())]).await.unwrap();
    reading.acceptances_among(&[("r", &key())]).await.unwrap();
    reading.differing_resource("a", "r", &key()).await.unwrap();
    reading.desired_file("r", &key()).await.unwrap();
    reading.desired_files("r", &[key(), key()]).await.unwrap();
    reading.resource_files("a", &[key()]).await.unwrap();
    reading.run_stopped("a", "r").await.unwrap();
    reading.proposals_about("a", &[key(), key()]).await.unwrap();
    reading.preview("a", "x").await.unwrap();
    reading.previews("a", "r", 50).await.unwrap();
    reading.audit_verify("a").await.unwrap();
    reading.checkpoints("a", 9, 1).await.unwrap();
    reading.checkpoints_unsent(9).await.unwrap();
    reading.invitations("a", now()).await.unwrap();
    reading.invitations_to("a@b", now()).await.unwrap();
    reading.repository_of_webhook("acme:fleet").await.unwrap();
    reading.webhook("r").await.unwrap();
    reading.accounts_with_backlog().await.unwrap();
    reading.event_before("a", now()).await.unwrap();
    reading.deliveries_of_groups("a", &["x", "y"], now()).await.unwrap();
    reading.deliveries_counted("a", now()).await.unwrap();
    reading.deliveries_untold().await.unwrap();
    reading.deliveries_due(now(), 50).await.unwrap();
    reading.delivery("a", "x").await.unwrap();
    reading.pull_requests_due(now(), now(), 50).await.unwrap();
    reading.plan_newest("r").await.unwrap();
    reading.plan_of_run("a", "x").await.unwrap();
    reading.plan_steps("x").await.unwrap();
    reading.plan_steps_from("x", 9).await.unwrap();
    reading.plans_unopened("a").await.unwrap();
    reading.steps_applied("r", &[step()]).await.unwrap();
    reading.desired_of("r", &[key(), key()]).await.unwrap();
    reading.audit_last_changes("a", &[key(), key()]).await.unwrap();
    reading.tombstones("a", &key()).await.unwrap();
    reading.agent_of("a", &key()).await.unwrap();
    reading.agents("a").await.unwrap();
    reading.assignment("a", &key()).await.unwrap();
    reading.assignments("a").await.unwrap();
    reading.inventory("a", &key()).await.unwrap();
    reading.observed("a", &key()).await.unwrap();
    reading.observed_targets("a").await.unwrap();
    reading.approval_sets_in_force("r").await.unwrap();
    reading.approval_sets_in_force_by("a", "ada@example.com").await.unwrap();
    reading.approval_sets_of("x").await.unwrap();
    reading.approval_sets_used(&["x", "y"], &[Digest::of(b"x")]).await.unwrap();
}

async fn write(store: &Store) {
    let mut writing = store.write().await.unwrap();
    writing.account_add("a", "acme", now()).await.unwrap();
    writing.commit().await.unwrap();
    let mut writing = store.write_account("a").await.unwrap();
    let spec = Spec::read(Kind::Node, r#"{"template": "edge"}"#).spec.unwrap();
    writing.resource_put(&key(), &spec, None, "ada", now()).await.unwrap();
    let ended = EndedResource { key: &key(), by: "ada" };
    writing.resource_remove(ended, now()).await.unwrap();
    writing.tombstones_forget(now(), &mut plenty()).await.unwrap();
    let agent = writing.agent_enrol(&key(), now()).await.unwrap();
    writing.agent_contact(&agent.id, now()).await.unwrap();
    writing.inventory_remove("a", &key(), &["x"]).await.unwrap();
    writing.resources_disown("r").await.unwrap();
    writing.desired_mark_agreed("r").await.unwrap();
    writing.desired_mark_agreed_among(&[("r", &key(), None)]).await.unwrap();
    let moved = ProposalMove {
        from: Status::PendingApproval,
        to: Status::Approved,
        reason: None,
        decided_by: None,
        until_change: false,
        at: now(),
    };
    writing.proposal_move("x", &moved).await.unwrap();
    writing.proposal_edit("x", 1, None, &Contributors::default()).await.unwrap();
    writing.approvals_lapse("a", "ada@example.com", "they left").await.unwrap();
    let placed = ProposalPosition {
        id: "x",
        position: 1,
        cause: Cause::Edited,
        waits_for: Vec::new(),
        blocked_by: Vec::new(),
    };
    writing.proposals_place(&[placed]).await.unwrap();
    writing.proposals_block(&[("x".to_owned(), Vec::new())]).await.unwrap();
    writing.acceptances_remove(&[("r", &key())]).await.unwrap();
    writing.run_begin("x", now()).await.unwrap();
    let fleet = Repository::new("r".to_owned(), "a", ("fleet", "https://git.example.com/fleet"), now());
    writing.run_finish(&Run::queued("x".to_owned(), &fleet, now())).await.unwrap();
    writing.events_forget(now(), now(), &mut plenty()).await.unwrap();
    writing.webhook_deliveries_forget(now(), &mut plenty()).await.unwrap();
    writing.repository_sync_by("r", now()).await.unwrap();
    writing.previews_forget(now(), &mut plenty()).await.unwrap();
    let tried = DeliveryAttempt { state: DeliveryState::Sent, next_at: now(), error: None, at: now() };
    writing.delivery_attempted("x", &tried).await.unwrap();
    writing.delivery_repeated("x", 1).await.unwrap();
    writing.delivery_retry("a", "x", now()).await.unwrap();
    writing.deliveries_digested("a", "p", "x").await.unwrap();
    writing.deliveries_forget(now(), &mut plenty()).await.unwrap();
    let wish = PendingPullRequest {
        account_id: "a".to_owned(),
        repository_id: "r".to_owned(),
        number: 7,
        reference: "refs/pull/7/head".to_owned(),
        commit_sha: "c".to_owned(),
        attempts: 0,
    };
    writing.pull_request_reschedule(&wish, now()).await.unwrap();
    writing.pull_request_done(&wish).await.unwrap();
    writing.pull_request_forget("r", 7).await.unwrap();
    writing.forge_reports_retry("r", now()).await.unwrap();
    writing.forge_reports_forget(now(), &mut plenty()).await.unwrap();
    writing.plan_confirm("x", "c").await.unwrap();
    writing.run_planned("x", None, None).await.unwrap();
    writing.plans_forget(now(), &mut plenty()).await.unwrap();
    writing.approval_set_carry("x", "y").await.unwrap();
    writing.approval_set_lapse("x", "moved", now()).await.unwrap();
    writing.proposals_keep_until(&[("x", now())]).await.unwrap();
    writing.repository_remove("r").await.unwrap();
    writing.commit().await.unwrap();
    store.lease_take("sync", "me", now(), Duration::from_secs(1)).await.unwrap();
}
