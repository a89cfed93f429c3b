//! Saves the end of a run: everything it found and decided, in one transaction.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windlass_core::accepted::Owner;
use windlass_core::account::Account;
use windlass_core::code::Code;
use windlass_core::content::ContentChange;
use windlass_core::diagnostic::Diagnostic;
use windlass_core::diff;
use windlass_core::digest::Digest;
use windlass_core::event::{EventKind, Severity};
use windlass_core::gate::{Contributor, ContributorRole, unread_history_gap};
use windlass_core::id::ProposalId;
use windlass_core::plan::Plan;
use windlass_core::proposal::{ExistingProposal, Proposal, ProposalCap, ReconcileResult, Status, reconcile};
use windlass_core::quarantine::{CrashHistory, QuarantinableWork, Quarantine, WorkSubject};
use windlass_core::repository::Repository;
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::run::{
    ProposalOutcomes, Run, RunDecision, RunError, RunFacts, RunStatus, Stage, run_status,
};
use windlass_core::time::Timestamp;
use windlass_source::{HostKeys, Movement};
use windlass_store::{AccountWriting, Lease, NewDesiredResource, Reading, StoreError};

use crate::account_state::{accepted, modules, names};
use crate::clock::{self, now};
use crate::comparison::LastComparison;
use crate::content_differences::{self, ContentDifferences};
use crate::control::Control;
use crate::crash::crash_point;
use crate::flow::close::close_proposal::{ProposalClosing, close_proposals};
use crate::flow::gate::set_approvals::SetApprovals;
use crate::flow::propose::open_next;
use crate::flow::propose::open_proposals::{self, OpenContext, PlannedChange, open_proposals};
use crate::flow::sync::compare::{ComparedFleet, compare};
use crate::flow::sync::finish::finish;
use crate::flow::sync::fleet_at_commit::{FleetAtCommit, FleetOrigin};
use crate::flow::sync::keep_plan::{NextPlan, confirmation, keep_plan};
use crate::flow::sync::repeat;
use crate::flow::sync::run_lease::RunLease;
use crate::record;
use crate::work::tracked::{QuarantineReport, quarantine_work, refusal};

/// Stores that a run has its commit and compares. Only the first attempt adds the event, however often a server
/// crashes, and only for a new commit: most runs find none.
pub(crate) async fn save_fetched(server: &Control, run: &Run, movement: Movement) -> Result<(), StoreError> {
    let mut writing = server.store().write_account(&run.account_id).await?;
    writing.keep_state();
    writing.run_set_stage(&run.id, Stage::Comparing).await?;
    if run.attempt == 0 && movement != Movement::Unchanged {
        let message = format!("a new commit of {} was fetched", run.repository_name);
        let payload = json!({"commit": run.commit_sha});
        writing.event(record::run_event(EventKind::SyncFetched, Severity::Low, run, message, payload, now()));
    }
    server.commit(writing).await
}

/// Pins SSH host keys that were seen for the first time.
pub(crate) async fn pin_host_keys(
    server: &Control,
    run: &Run,
    repository: &Repository,
    lease: &Lease,
    keys: &HostKeys,
) -> Result<(), StoreError> {
    let mut writing = server.store().write_account(&run.account_id).await?;
    writing.lease_check(lease).await?;
    writing.repository_pin(&repository.id, &keys.to_string()).await?;
    let message = format!("the host keys of {} were pinned: {}", repository.name, keys.fingerprint());
    let payload = json!({"fingerprint": keys.fingerprint()});
    let event = record::run_event(EventKind::HostKeyRecorded, Severity::Medium, run, message, payload, now());
    writing.event(event);
    server.commit(writing).await
}

/// Ends a run that failed. Nothing else changes; the result of the last good run is kept.
pub(crate) async fn save_failed(
    server: &Control,
    run: &mut Run,
    repository: Option<&Repository>,
    holding: RunLease<'_>,
    error: RunError,
    problems: Vec<Diagnostic>,
) -> Result<(), StoreError> {
    let now = now();
    let mut writing = server.store().write_account(&run.account_id).await?;
    holding.end_in(&mut writing).await?;
    run.status = RunStatus::Failed;
    run.completed_at = Some(now);
    if !problems.is_empty() {
        run.problems = json!(problems);
    }
    let (kind, severity) = match error.code.as_str() {
        "host-key-mismatch" => (EventKind::HostKeyMismatch, Severity::Critical),
        _ => (EventKind::SyncFailed, Severity::High),
    };
    let message = format!("sync of {} failed: {}", run.repository_name, error.message);
    let payload = json!({"code": error.code, "help": error.help, "commit_sha": run.commit_sha});
    if kind != EventKind::SyncFailed {
        let event = record::run_event(kind, severity, run, message.clone(), payload.clone(), now);
        writing.event(event);
    }
    run.error = Some(error);
    if writing.run_finish(run).await? {
        let event = record::run_event(EventKind::SyncFailed, Severity::High, run, message, payload, now);
        writing.event(event);
        if let Some(repository) = repository.filter(|repository| run.knows_desired_state(repository)) {
            let error_message = run.error.as_ref().map(|error| error.message.as_str());
            writing.repository_record_run(&repository.id, &run.id, run.status, error_message, now).await?;
        }
    }
    server.commit(writing).await?;
    // Approved proposals are held from now on; the apply loop stores the reason.
    server.nudges().apply.notify_one();
    Ok(())
}

/// Quarantines the sync of a repository because of its crash history, and ends the run without starting it.
pub(crate) async fn quarantine_sync(
    server: &Control,
    run: &mut Run,
    repository: &Repository,
    lease: &Lease,
    suspicion: CrashHistory,
) -> Result<(), StoreError> {
    let held = QuarantineReport {
        work: QuarantinableWork::Sync,
        subject: WorkSubject::Sync(&repository.id),
        doing: "syncing it".to_owned(),
        detail: json!({"run_id": run.id}),
    };
    let held = quarantine_work(server, repository, held, suspicion).await?;
    end_quarantined(server, run, repository, lease, &held).await
}

/// Ends a run that does not start because of a quarantine.
pub(crate) async fn end_quarantined(
    server: &Control,
    run: &mut Run,
    repository: &Repository,
    lease: &Lease,
    held: &Quarantine,
) -> Result<(), StoreError> {
    save_failed(server, run, Some(repository), RunLease::lease(lease), refusal(held), Vec::new()).await
}

/// The result of an attempt to save a comparison.
enum SaveResult {
    /// The run ended.
    Done,
    /// Nothing was written: these contents must be compared first, while no transaction is open.
    Needs { changes: Vec<ContentChange>, known: FleetOrigin },
    /// Nothing was written: the compared state changed meanwhile.
    Moved { known: FleetOrigin },
}

/// How many comparisons are repeated because the state changed meanwhile, before one runs under the account's lock.
const TRIES_WITHOUT_LOCK: usize = 3;

/// Compares, decides and saves.
pub(crate) async fn save_comparison(
    server: &Control,
    run: &mut Run,
    repository: &Repository,
    holding: RunLease<'_>,
    mut known: FleetOrigin,
) -> Result<(), StoreError> {
    if matches!(known, FleetOrigin::Stored) && repeat::repeat_last(server, run, repository, holding).await? {
        return Ok(());
    }
    let (mut contents, mut tries) = (None, 0);
    loop {
        let lock = if tries < TRIES_WITHOUT_LOCK { Lock::ToSave } else { Lock::ToCompare };
        match try_to_save(server, run, repository, holding, (known, lock), contents.as_ref()).await? {
            SaveResult::Done => return Ok(()),
            SaveResult::Needs { changes, known: again } => {
                known = again;
                let mirror = server.mirror_directory(&repository.id);
                contents = Some(ContentDifferences::compare_in_mirror(mirror, changes).await);
            }
            SaveResult::Moved { known: again } => {
                known = again;
                tries += 1;
            }
        }
    }
}

/// How long the account is locked for other writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lock {
    /// While the result is saved. If the state changed in between, the run compares again.
    ToSave,
    /// During the comparison, too, so that nothing changes in between: used when the state changed too often.
    ToCompare,
}

/// What a run compares, as of one moment, and the result.
struct ComparisonSnapshot {
    account: Account,
    repository: Repository,
    offered: Vec<ExistingProposal>,
    compared: ComparedFleet,
    state_version: i64,
    /// What pins selected among.
    modules: Digest,
}

/// What is no longer there to compare.
enum NothingToCompare {
    Account,
    Repository,
    /// The repository was read from another source than its settings name now.
    Source,
}

/// Loads and compares. `last_modules` is what pins selected among when the repository was last compared.
async fn compare_now(
    reading: &mut Reading,
    run: &mut Run,
    read: &Repository,
    (known, last_modules): (FleetOrigin, Option<Digest>),
    now: Timestamp,
) -> Result<Result<ComparisonSnapshot, NothingToCompare>, StoreError> {
    let state_version = reading.state_version(&run.account_id).await?;
    let Some(account) = reading.account(run.account_id.as_str()).await? else {
        return Ok(Err(NothingToCompare::Account));
    };
    let current = reading.repository(&run.account_id, read.id.as_str()).await?;
    let Some(repository) = current else { return Ok(Err(NothingToCompare::Repository)) };
    // The current settings decide what is approved. They do not apply to a fleet that was read from another source.
    if !repository.has_same_source(read) {
        return Ok(Err(NothingToCompare::Source));
    }
    add_contributors(reading, run, &repository).await?;
    if let (FleetOrigin::Read(_), None) = (&known, &repository.good_commit) {
        let owned = reading.resources_owned(&run.account_id, &repository.id).await?;
        unread_history_gap(owned).into_iter().for_each(|gap| run.contributors.note_gap(gap));
    }
    let offered = reading.proposals_open_of(&repository.id).await?;
    let modules = modules::modules_digest(reading, &run.account_id).await?;
    let compared = match known {
        FleetOrigin::Read(fleet_at_commit) => {
            let confirmation = confirmation(reading, run, &repository).await?;
            compare(reading, &repository, *fleet_at_commit, confirmation, now).await?
        }
        FleetOrigin::Stored if last_modules == Some(modules) => {
            compare_stored(reading, run, &repository, &account, &offered, now).await?
        }
        FleetOrigin::Stored => compare_all_stored(reading, run, &repository, &account, now).await?,
    };
    if compared.fleet_at_commit.has_moved_pins() {
        // Whoever promoted a version decided what follows it.
        let promoter = run.requested_by.as_deref();
        let promoter = promoter.and_then(|by| Contributor::new(ContributorRole::Writer, by));
        run.contributors.add(promoter);
    }
    Ok(Ok(ComparisonSnapshot { account, repository, offered, compared, state_version, modules }))
}

/// Ends a run that has nothing left to compare.
async fn end_without(
    server: &Control,
    run: &mut Run,
    repository: &Repository,
    holding: RunLease<'_>,
    reason: NothingToCompare,
) -> Result<SaveResult, StoreError> {
    let (of, error) = match reason {
        NothingToCompare::Account => return Ok(SaveResult::Done),
        NothingToCompare::Repository => {
            let message = "the repository was removed or moved to another account during the sync";
            (None, RunError::new("repository-removed", message, ""))
        }
        NothingToCompare::Source => {
            let message = "the repository's settings changed during the sync";
            (
                Some(repository),
                RunError::new("source-changed", message, "Windlass syncs it again automatically"),
            )
        }
    };
    save_failed(server, run, of, holding, error, Vec::new()).await?;
    Ok(SaveResult::Done)
}

/// Compares, decides and saves, unless the state changes meanwhile or file contents must be compared first.
async fn try_to_save(
    server: &Control,
    run: &mut Run,
    read: &Repository,
    holding: RunLease<'_>,
    (known, lock): (FleetOrigin, Lock),
    contents: Option<&ContentDifferences>,
) -> Result<SaveResult, StoreError> {
    let now = now();
    let last_modules = server.last_comparisons().get(&read.id).map(|last| last.modules);
    let known = (known, last_modules);
    let (mut writing, snapshot) = match lock {
        Lock::ToSave => {
            let mut reading = server.store().read_snapshot().await?;
            let snapshot = compare_now(&mut reading, run, read, known, now).await?;
            drop(reading);
            (server.store().write_account(&run.account_id).await?, snapshot)
        }
        Lock::ToCompare => {
            let mut writing = server.store().write_account(&run.account_id).await?;
            let snapshot = compare_now(&mut writing, run, read, known, now).await?;
            (writing, snapshot)
        }
    };
    let ComparisonSnapshot { account, repository, offered, compared, state_version, modules } = match snapshot
    {
        Ok(snapshot) => snapshot,
        Err(reason) => {
            drop(writing);
            return end_without(server, run, read, holding, reason).await;
        }
    };
    if writing.state_version() != state_version {
        return Ok(SaveResult::Moved { known: compared.fleet_at_commit.into_known() });
    }
    holding.end_in(&mut writing).await?;
    let repository = &repository;
    let ComparedFleet { mut fleet_at_commit, decided, accepted } = compared;
    if let Some(error) = windlass_core::run::refusal_of(&decided.plan) {
        drop(writing);
        fleet_at_commit.add_problems(decided.plan.problems.clone());
        let problems = std::mem::take(&mut fleet_at_commit.problems);
        save_failed(server, run, Some(repository), holding, error, problems).await?;
        return Ok(SaveResult::Done);
    }
    let plan = &decided.plan;
    let next = NextPlan::load(&mut writing, repository, plan).await?;
    let declined = writing.proposals_rejected(&repository.id).await?;
    let limit = server.config().max_proposals;
    let stuck = match plan.steps.len() > limit && !offered.is_empty() {
        true => open_next::stuck_proposals(&mut writing, &account, repository, now).await?,
        false => BTreeSet::new(),
    };
    let reconciled = reconcile(plan, &offered, &declined, &accepted, &ProposalCap { limit, stuck });
    let previous_files = previous_files(&mut writing, repository, plan, &reconciled).await?;
    let offered = proposals_to_offer(plan, &reconciled, &previous_files);
    let nothing = ContentDifferences::default();
    let contents = match contents.map_or_else(|| offered.if_no_lookup_is_needed(&nothing), Ok) {
        Ok(contents) => contents,
        Err(changes) => return Ok(SaveResult::Needs { changes, known: fleet_at_commit.into_known() }),
    };
    fleet_at_commit.add_problems(plan.problems.clone());
    run.plan_id = keep_plan(&mut writing, run, repository, next, now).await?;
    store_desired(&mut writing, repository, &fleet_at_commit).await?;
    close(&mut writing, run, &reconciled, now).await?;
    let changes = offered.open.iter().map(|planned| &planned.change);
    let plan_id = run.plan_id.as_ref();
    let offering = match run.knows_desired_state(repository) {
        // This run could read the repository, so an earlier error does not count.
        true => Repository { last_error: None, ..repository.clone() },
        false => repository.clone(),
    };
    let offer = OpenContext {
        contents,
        account: &account,
        repository: &offering,
        run,
        set_approvals: &SetApprovals::load(&mut writing, &repository.id, plan_id, changes).await?,
        expires_at: now.plus(server.config().intervals.proposal_lifetime),
        now,
    };
    let opened =
        open_proposals(&mut writing, &offer, &offered, |keys| fleet_at_commit.declared_at(keys)).await?;
    // A run requests approval once: the same people are already reviewing when it opens further changes.
    let waiting: Vec<&Proposal> =
        opened.iter().filter(|proposal| proposal.status == Status::PendingApproval).collect();
    if !waiting.is_empty() {
        writing.event(record::approval_requested(run, &waiting, reconciled.remaining, now));
    }
    let conclusion = RunConclusion {
        repository,
        decided: &decided,
        reconciled: &reconciled,
        fleet_at_commit: &fleet_at_commit,
    };
    conclusion.save(&mut writing, run, now).await?;
    writing.run_set_plan(&run.id, run.plan_id.as_ref(), reconciled.next).await?;
    let version = writing.next_state_version();
    crash_point("sync.before_commit");
    server.commit(writing).await?;
    crash_point("sync.committed");
    let last = LastComparison {
        run_id: run.id.clone(),
        state_version: version,
        modules,
        until: decided.accepted_until,
    };
    repeat::remember_result(server, repository, last);
    if fleet_at_commit.is_fresh() {
        let owner = Owner::Repository(repository.name.clone());
        content_differences::keep_contents(
            server,
            &repository.id,
            content_differences::contents_to_keep(&fleet_at_commit.desired, &accepted, &owner),
        )
        .await;
    }
    server.nudges().apply.notify_one();
    server.nudges().drift.notify_one();
    Ok(SaveResult::Done)
}

/// Adds the other contributors to what a run read: who pushed it, and the contributors of earlier commits that are not
/// completely applied yet.
async fn add_contributors(
    reading: &mut Reading,
    run: &mut Run,
    repository: &Repository,
) -> Result<(), StoreError> {
    let commit = run.commit_sha.clone().unwrap_or_default();
    let since = repository.good_at.unwrap_or(repository.created_at);
    let pushers = reading.pushers(&repository.id, &commit, since).await?;
    run.contributors.add(pushers);
    let Some(good_run_id) = &repository.good_run_id else { return Ok(()) };
    let Some(good) = reading.run(&run.account_id, good_run_id).await? else { return Ok(()) };
    if !good.status.is_all_applied() {
        run.contributors.join(good.contributors);
    }
    Ok(())
}

/// Compares the stored desired state. If nothing differs, as is usual, loads only the resources of open proposals.
async fn compare_stored(
    reading: &mut Reading,
    run: &Run,
    repository: &Repository,
    account: &Account,
    offered: &[ExistingProposal],
    now: Timestamp,
) -> Result<ComparedFleet, StoreError> {
    if !reading.differing_resources(&account.id, &repository.id).await?.is_empty() {
        return compare_all_stored(reading, run, repository, account, now).await;
    }
    let names = names::repository_names(reading, &account.id).await?;
    let keys: Vec<ResourceKey> = offered.iter().map(|offered| offered.key.clone()).collect();
    let accepted = accepted::load_accepted_of(reading, &account.id, &keys, &names).await?;
    Ok(ComparedFleet {
        fleet_at_commit: FleetAtCommit::unchanged(),
        decided: RunDecision::nothing(&account.name),
        accepted,
    })
}

/// Compares the stored desired state with the accepted state.
async fn compare_all_stored(
    reading: &mut Reading,
    run: &Run,
    repository: &Repository,
    account: &Account,
    now: Timestamp,
) -> Result<ComparedFleet, StoreError> {
    let fleet_at_commit = FleetAtCommit::load_stored(reading, &account.name, &repository.id).await?;
    let confirmation = confirmation(reading, run, repository).await?;
    compare(reading, repository, fleet_at_commit, confirmation, now).await
}

/// The files that previously declared the resources whose changes are opened: for each, the file when its last change
/// was applied, however often the declaration moved since without a change. For a resource that was never applied, the
/// file that declared it first.
async fn previous_files(
    reading: &mut Reading,
    repository: &Repository,
    plan: &Plan,
    reconciled: &ReconcileResult,
) -> Result<ResourceMap<String>, StoreError> {
    let opened: Vec<ResourceKey> =
        reconciled.open.iter().map(|position| plan.steps[*position].change.key.clone()).collect();
    let mut files = reading.desired_files(&repository.id, &opened).await?;
    for (kind, name, file) in reading.resource_files(&repository.account_id, &opened).await?.iter() {
        files.insert(ResourceKey::new(kind, name), file.clone());
    }
    Ok(files)
}

/// The open proposals that are still valid, and the changes to open new ones for.
fn proposals_to_offer(
    plan: &Plan,
    reconciled: &ReconcileResult,
    previous_files: &ResourceMap<String>,
) -> open_proposals::ProposalOffer {
    let planned = |position: &usize| {
        let step = &plan.steps[*position];
        let key = &step.change.key;
        PlannedChange::of(*position, step, previous_files.get(key.kind, &key.name).cloned())
    };
    open_proposals::ProposalOffer {
        keep: reconciled.keep.iter().map(|(id, position)| (id.clone(), planned(position))).collect(),
        open: reconciled.open.iter().map(planned).collect(),
    }
}

async fn store_desired(
    writing: &mut AccountWriting,
    repository: &Repository,
    fleet_at_commit: &FleetAtCommit,
) -> Result<(), StoreError> {
    if fleet_at_commit.is_fresh() || fleet_at_commit.has_moved_pins() {
        let files: Vec<String> = fleet_at_commit
            .desired
            .resources
            .iter()
            .map(|(kind, name, declared)| fleet_at_commit.file_of((kind, name), declared))
            .collect();
        let wanted: Vec<NewDesiredResource<'_>> = fleet_at_commit
            .desired
            .resources
            .iter()
            .zip(&files)
            .map(|((kind, name, declared), file)| NewDesiredResource {
                name,
                kind,
                spec: &declared.spec,
                digest: declared.digest,
                file,
            })
            .collect();
        writing.desired_replace(&repository.id, &wanted).await?;
    }
    writing.desired_mark_agreed(&repository.id).await?;
    Ok(())
}

/// Closes proposals that are no longer valid.
async fn close(
    writing: &mut AccountWriting,
    run: &Run,
    reconciled: &ReconcileResult,
    now: Timestamp,
) -> Result<(), StoreError> {
    let ids: Vec<&ProposalId> = reconciled.close.iter().map(|closing| &closing.id).collect();
    let proposals = writing.proposals_by_id(&run.account_id, &ids).await?;
    let closings: Vec<ProposalClosing<'_>> = proposals
        .iter()
        .zip(&reconciled.close)
        .map(|(proposal, closing)| ProposalClosing {
            run_id: Some(&run.id),
            ..ProposalClosing::new(proposal, closing.status, Some(&closing.reason))
        })
        .collect();
    close_proposals(writing, &closings, Some(&run.id), now).await
}

/// The problems of a commit that was read before: as they were found then, except those about resources that other
/// repositories own. Ownership changes without a commit, so those come from the current comparison.
fn still_valid_problems(then: &Value, now: &[Diagnostic]) -> Vec<Value> {
    let code = Code::OwnedElsewhere;
    let then = then.as_array().into_iter().flatten().filter(|problem| problem["code"] != code.slug());
    let now = now.iter().filter(|problem| problem.code == code).map(|problem| json!(problem));
    then.cloned().chain(now).collect()
}

/// The result of a run.
struct RunConclusion<'c> {
    repository: &'c Repository,
    decided: &'c RunDecision,
    reconciled: &'c ReconcileResult,
    fleet_at_commit: &'c FleetAtCommit,
}

impl RunConclusion<'_> {
    /// Ends the run itself.
    async fn save(
        &self,
        writing: &mut AccountWriting,
        run: &mut Run,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let RunConclusion { repository, decided, reconciled, fleet_at_commit } = self;
        let steps = &decided.plan.steps;
        let refused = decided.plan.refusals.len();
        run.diff = diff::diff_document(steps.iter().map(|step| (step.change.action(), &step.change.key)));
        run.diff_count = steps.len() + refused;
        run.remaining = reconciled.remaining;
        run.skipped = Value::Array(windlass_core::run::skipped_changes(decided, &reconciled.held_back));
        run.problems = match fleet_at_commit.is_fresh() {
            true => json!(fleet_at_commit.problems),
            false => json!(still_valid_problems(&run.problems, &fleet_at_commit.problems)),
        };
        run.completed_at = Some(clock::now());
        let has_proposals = !(reconciled.keep.is_empty() && reconciled.open.is_empty());
        let outcomes = if has_proposals { ProposalOutcomes::Open } else { ProposalOutcomes::None };
        let not_proposed = refused + reconciled.held_back.len();
        run.status = run_status(RunFacts { outcomes, remaining: run.remaining, not_proposed });
        finish(writing, run, repository, reconciled.open.len(), now).await
    }
}
