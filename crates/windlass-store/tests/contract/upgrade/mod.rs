//! The current version opens databases of every earlier version, and keeps all their data.

mod fixture;
mod past;

use windlass_core::id::{AccountId, PlanId, ProposalId, RepositoryId, RunId, SessionId, UserId};
use windlass_core::quarantine::WorkSubject;
use windlass_core::resource::Kind;
use windlass_store::{
    Address, EventFilter, EventOrder, LogVerification, MigrationError, Reading, Store, StoreError,
};

use crate::world::{at, entry, event, node, node_key, runtime};
use fixture::{
    ACCOUNT, ARCHIVED_ACCOUNT, ENTRIES, FILE, PROPOSAL, REPOSITORY, RUN, UNFINISHED_RUN, USER, accepted,
};
use past::{Past, at_every_version, at_version, last_version};

/// Columns that a migration renamed: the migration, the table, the name before and after.
const RENAMED: &[(i64, &str, &str, &str)] = &[
    (14, "acceptances", "live_digest", "accepted_digest"),
    (14, "drifts", "live_digest", "accepted_digest"),
    (14, "desired", "settled", "last_agreed"),
];

/// Columns that a migration removed on purpose.
const REMOVED: &[(&str, &str)] = &[
    ("sync_runs", "begun"),
    ("pull_requests", "begun"),
    ("resources", "spec"),
    ("desired", "spec"),
    ("proposals", "before_spec"),
    ("proposals", "after_spec"),
    ("proposals", "edited_spec"),
];

/// Tables whose rows a migration deleted on purpose: the migration and the table.
const EMPTIED: &[(i64, &str)] = &[(7, "throttles")];

#[test]
fn every_row_of_every_earlier_schema_is_kept_and_a_second_open_changes_nothing() {
    at_every_version(|past| async move {
        let mut columns = past.columns().await;
        for (table, column) in REMOVED {
            columns.get_mut(*table).unwrap().retain(|name| name != column);
        }
        let before = past.dump(&columns).await;
        for (table, rows) in &before {
            assert!(
                !rows.is_empty(),
                "the fixture has no row for {table} at migration {}: add one to fixture.rs (ARCHITECTURE.md, How to add a \
                 migration)",
                past.version
            );
        }
        assert_pending(&past).await;
        let store = Store::open(&past.address).await.unwrap();
        columns.retain(|table, _| !is_emptied(&past, table));
        for (table, names) in &mut columns {
            names.iter_mut().for_each(|name| *name = name_now(&past, table, name));
        }
        for (table, rows) in past.dump(&columns).await {
            // A later migration may add rows; existing rows must stay.
            for row in &before[&table] {
                assert!(rows.contains(row), "{table} lost {row} on the way from migration {}", past.version);
            }
        }
        store.close().await;
        assert_second_open_changes_nothing(&past).await;
    });
}

/// Reading the pending migrations returns those after the version, and changes nothing.
async fn assert_pending(past: &Past) {
    let (columns, applied) = (past.columns().await, past.applied().await);
    let state = Store::schema_state(&past.address).await.unwrap();
    assert_eq!(i64::try_from(state.applied).unwrap(), past.version);
    let pending: Vec<i64> = state.pending.iter().map(|migration| migration.number).collect();
    assert_eq!(pending, (past.version + 1..=last_version()).collect::<Vec<_>>());
    assert_eq!((past.columns().await, past.applied().await), (columns, applied));
}

#[test]
fn a_migration_that_changed_after_it_was_applied_is_rejected() {
    at_version(3, |past| async move {
        past.raw
            .execute("UPDATE _sqlx_migrations SET checksum = checksum || checksum WHERE version = 2")
            .await;
        for refused in
            [Store::open(&past.address).await.map(drop), Store::schema_state(&past.address).await.map(drop)]
        {
            let changed = matches!(refused, Err(StoreError::Migrate(MigrationError::Changed { number: 2 })));
            assert!(changed, "{refused:?}");
        }
        assert_eq!(past.applied().await.len(), 3);
    });
}

#[test]
fn a_backup_before_an_upgrade_has_the_schema_of_the_database() {
    at_version(13, |past| async move {
        let Address::Sqlite(path) = &past.address else { return };
        let copy = path.with_file_name("copy.db");
        let store = Store::open_unmigrated(&past.address).await.unwrap();
        store.backup(&copy).await.unwrap();
        store.close().await;
        for address in [&past.address, &Address::Sqlite(copy)] {
            assert_eq!(Store::schema_state(address).await.unwrap().applied, 13);
        }
    });
}

#[test]
fn checking_for_pending_migrations_creates_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let files = || std::fs::read_dir(directory.path()).unwrap().count();
    runtime().block_on(async {
        let address = Address::Sqlite(directory.path().join("windlass.db"));
        assert!(Store::schema_state(&address).await.is_err());
        assert_eq!(files(), 0);
        Store::open(&address).await.unwrap().close().await;
        let before = files();
        assert!(Store::schema_state(&address).await.unwrap().pending.is_empty());
        assert_eq!(files(), before);
        // Also while the journal contains writes of a running server.
        let store = Store::open(&address).await.unwrap();
        let mut writing = store.write().await.unwrap();
        writing.setting_put("name", "value").await.unwrap();
        writing.commit().await.unwrap();
        assert!(Store::schema_state(&address).await.unwrap().pending.is_empty());
        store.close().await;
    });
}

fn is_emptied(past: &Past, table: &str) -> bool {
    EMPTIED.iter().any(|(number, emptied)| past.version < *number && *emptied == table)
}

/// The current name of a column.
fn name_now(past: &Past, table: &str, column: &str) -> String {
    let renamed = RENAMED
        .iter()
        .find(|(number, of, before, _)| past.version < *number && *of == table && *before == column);
    renamed.map_or(column, |(.., now)| now).to_owned()
}

/// Opening the database once more applies nothing and writes nothing.
async fn assert_second_open_changes_nothing(past: &Past) {
    let columns = past.columns().await;
    let (rows, applied) = (past.dump(&columns).await, past.applied().await);
    Store::open(&past.address).await.unwrap().close().await;
    assert_eq!(past.columns().await, columns);
    assert_eq!(past.dump(&columns).await, rows);
    assert_eq!(past.applied().await, applied);
}

#[test]
fn the_store_reads_checks_and_extends_the_data_of_every_earlier_schema() {
    at_every_version(|past| async move {
        let store = Store::open(&past.address).await.unwrap();
        let mut reading = store.read().await.unwrap();
        read_people(&mut reading).await;
        read_repositories(&mut reading, &past).await;
        read_proposals(&mut reading, &past).await;
        read_log(&mut reading).await;
        drop(reading);
        continue_log(&store).await;
        let faults: Vec<String> = store
            .check()
            .await
            .unwrap()
            .into_iter()
            .filter_map(|checked| Some(format!("{}: {}", checked.what, checked.fault?)))
            .collect();
        assert_eq!(faults, Vec::<String>::new(), "from migration {}", past.version);
        store.close().await;
    });
}

fn account_id() -> AccountId {
    AccountId::new(ACCOUNT)
}

fn repository_id() -> RepositoryId {
    RepositoryId::new(REPOSITORY)
}

fn run_id() -> RunId {
    RunId::new(RUN)
}

fn proposal_id() -> ProposalId {
    ProposalId::new(PROPOSAL)
}

async fn read_people(reading: &mut Reading) {
    let account = reading.account("acme").await.unwrap().unwrap();
    assert_eq!((account.id.as_str(), account.policy.as_str()), (ACCOUNT, "{}"));
    assert_eq!(account.halt.unwrap().reason, "moving");
    assert!(reading.user(USER).await.unwrap().unwrap().is_root);
    assert_eq!(reading.members(&account_id()).await.unwrap().len(), 2);
    assert!(reading.session(&SessionId::new("session-1"), at(0)).await.unwrap().is_some());
    assert_eq!(reading.tokens(&account_id()).await.unwrap()[0].name, "deploy");
    let bob = reading.identity_user("https://id.example.com", "bob").await.unwrap();
    assert_eq!(bob, Some(UserId::new("user-2")));
    assert_eq!(reading.membership_origins(&UserId::new("user-2")).await.unwrap().len(), 1);
}

async fn read_repositories(reading: &mut Reading, past: &Past) {
    let repository = reading.repository(&account_id(), "fleet").await.unwrap().unwrap();
    assert_eq!(
        (repository.id.as_str(), repository.good_run_id.as_ref().map(RunId::as_str)),
        (REPOSITORY, Some(RUN))
    );
    assert!(repository.quarantines.is_empty());
    for (key, spec) in accepted() {
        let found = reading.resource(&account_id(), &key).await.unwrap().unwrap();
        assert_eq!((*found.spec).to_stored(), spec.to_stored());
        assert_eq!(found.digest, spec.digest());
        assert_eq!(found.declared_in.as_deref(), Some(FILE), "from migration {}", past.version);
    }
    let specs = reading.desired_specs(&repository_id(), None).await.unwrap();
    assert_eq!(specs.get(Kind::Node, "edge-1").unwrap().to_stored(), node("us").to_stored());
    let wanted = reading.desired(&repository_id()).await.unwrap();
    let edge = wanted.iter().find(|wanted| wanted.key == node_key("edge-1")).unwrap();
    assert_eq!((edge.digest, edge.last_agreed), (node("us").digest(), Some(node("eu").digest())));
    assert_eq!(reading.differing_resources(&account_id(), &repository_id()).await.unwrap().len(), 1);
    assert_eq!(reading.acceptances(&repository_id()).await.unwrap()[0].accepted, Some(node("eu").digest()));
    assert_eq!(reading.drifts(&repository_id()).await.unwrap()[0].accepted, Some(node("eu").digest()));
    assert_eq!(reading.webhook(&repository_id()).await.unwrap().generation, 2);
    assert_eq!(reading.pull_requests_due(at(1), at(2), 9).await.unwrap().len(), 1);
    // From migration 6 to 11 the count was stored with the run and the pull request.
    let expected = if past.version >= 6 { 2 } else { 0 };
    assert_eq!(reading.suspicion(WorkSubject::Sync(&repository_id())).await.unwrap().deaths, expected);
}

async fn read_proposals(reading: &mut Reading, past: &Past) {
    let run = reading.run(&account_id(), &run_id()).await.unwrap().unwrap();
    assert_eq!(run.contributors.people().len(), if past.version >= 3 { 200 } else { 0 });
    assert_eq!(run.contributors.gap().is_some(), (3..11).contains(&past.version), "{}", past.version);
    assert_eq!(run.plan_id.as_ref().map(PlanId::as_str), (past.version >= 4).then_some("plan-1"));
    let unfinished = reading.runs_unfinished().await.unwrap();
    assert_eq!(unfinished.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), [UNFINISHED_RUN]);
    let proposal = reading.proposal(&account_id(), &proposal_id()).await.unwrap().unwrap();
    assert_eq!(proposal.change.base, Some(node("eu").digest()));
    assert_eq!(proposal.change.before.as_deref(), Some(&node("eu")));
    assert_eq!(proposal.change.after.as_deref(), Some(&node("us")));
    assert_eq!(proposal.edit.as_ref().map(|edit| &*edit.spec), Some(&node("ap")));
    assert_eq!(proposal.effective_digest(), Some(node("ap").digest()));
    assert_eq!(reading.run_proposals(&run_id()).await.unwrap().len(), 1);
    let approvals = reading.approvals(&proposal_id()).await.unwrap();
    assert_eq!((approvals[0].approver.as_str(), &approvals[0].lapsed), ("bob", &None));
    if past.version >= 4 {
        assert_eq!(reading.plan_steps(&PlanId::new("plan-1")).await.unwrap()[0].name, "edge-1");
        assert_eq!(reading.approval_sets_in_force(&repository_id()).await.unwrap().len(), 1);
    }
}

async fn read_log(reading: &mut Reading) {
    let order = EventOrder::OldestAfter(0);
    let events = reading.events(&account_id(), &EventFilter::default(), order, 9).await.unwrap();
    assert_eq!(events.iter().map(|event| event.message.as_str()).collect::<Vec<_>>(), ["edge-1 differs"]);
    for (account, expected) in [(ACCOUNT, ENTRIES), (ARCHIVED_ACCOUNT, 2), ("", 1)] {
        let verified = reading.audit_verify(&AccountId::new(account)).await.unwrap();
        assert!(
            matches!(verified, LogVerification::Intact { entries, .. } if entries == expected),
            "{verified:?}"
        );
    }
}

/// New events and audit entries continue the existing ones.
async fn continue_log(store: &Store) {
    let mut writing = store.write_account(&account_id()).await.unwrap();
    writing.event(event("next"));
    writing.audit(entry("next"));
    assert_eq!(writing.commit().await.unwrap(), 2);
    let verified = store.read().await.unwrap().audit_verify(&account_id()).await.unwrap();
    assert!(
        matches!(verified, LogVerification::Intact { entries, .. } if entries == ENTRIES + 1),
        "{verified:?}"
    );
}
