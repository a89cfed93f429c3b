//! Opens the next changes of a run's plan as soon as others are done, without a new sync: from the stored plan, and
//! only while accepted and desired state are those that the plan was made from.
//!
//! Each step is one transaction under the account's lock, which also advances the run's position in its plan. After a
//! crash, a server continues from that position, and of several servers only one opens each change.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::account::Account;
use windlass_core::apply::Gatekeeper;
use windlass_core::conflict::Candidate;
use windlass_core::content::ContentChange;
use windlass_core::diff::Change;
use windlass_core::drift::Acceptances;
use windlass_core::gate::Consent;
use windlass_core::id::{AccountId, ProposalId, RepositoryId};
use windlass_core::plan::StoredStep;
use windlass_core::proposal::{
    OpenObstacle, Proposal, RejectedChange, Status, StepFacts, can_open, free_slots, waits_outside_plan,
};
use windlass_core::repository::Repository;
use windlass_core::resource::{ResourceKey, ResourceMap, Spec};
use windlass_core::run::Run;
use windlass_core::time::Timestamp;
use windlass_store::{
    AccountWriting, DesiredResource, ProposalFilter, ProposalSource, Reading, Resource, StoreError,
    UnopenedPlan,
};

use crate::account_state::declaration_source::DeclarationSource;
use crate::account_state::load::load_account_state;
use crate::clock::now;
use crate::content_differences::ContentDifferences;
use crate::control::Control;
use crate::crash::crash_point;
use crate::flow::close::update_runs::update_run;
use crate::flow::gate::gatekeeper::with_hosts;
use crate::flow::gate::set_approvals::SetApprovals;
use crate::flow::propose::open_proposals::{OpenContext, PlannedChange, ProposalOffer, open_proposals};

/// Changes checked in one transaction: few enough that it is short even if none of them can be opened.
const MAX_CHECKED_PER_TRANSACTION: usize = 1_000;

/// Whether there is more to do immediately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenNextResult {
    /// An opened change is approved already, or the rest of a plan is not checked yet.
    Ready,
    /// Nothing is left to open, or the cap allows no more.
    Nothing,
}

/// Opens the next changes of every plan of an account, as far as the cap allows.
pub(crate) async fn open_next(
    server: &Control,
    account_id: &AccountId,
) -> Result<OpenNextResult, StoreError> {
    let mut reading = server.store().read().await?;
    let mut with_room = Vec::new();
    for unopened in reading.plans_unopened(account_id).await? {
        if ProposalRoom::of(&mut reading, server, account_id, &unopened.repository_id).await?.is_some() {
            with_room.push(unopened);
        }
    }
    drop(reading);
    let mut next = OpenNextResult::Nothing;
    for unopened in with_room {
        if open_some(server, account_id, &unopened).await? == OpenNextResult::Ready {
            next = OpenNextResult::Ready;
        }
    }
    Ok(next)
}

/// A repository, and how many more proposals may be opened for it.
struct ProposalRoom {
    account: Account,
    repository: Repository,
    slots: usize,
}

impl ProposalRoom {
    /// None if the cap is reached, if the repository's newest sync failed, or if it was not synced since its source
    /// changed: git may no longer declare the planned changes.
    async fn of(
        reading: &mut Reading,
        server: &Control,
        account_id: &AccountId,
        repository_id: &RepositoryId,
    ) -> Result<Option<ProposalRoom>, StoreError> {
        let account = reading.account(account_id.as_str()).await?;
        let repository = reading.repository(account_id, repository_id.as_str()).await?;
        let (Some(account), Some(repository)) = (account, repository) else { return Ok(None) };
        if repository.failed_sync().is_some() || repository.good_commit.is_none() {
            return Ok(None);
        }
        let cap = server.config().max_proposals;
        let open = reading.proposals_open_of(repository_id).await?.len();
        let stuck = match open < cap {
            true => 0,
            false => stuck_proposals(reading, &account, &repository, now()).await?.len(),
        };
        let slots = free_slots(cap, open, stuck);
        Ok((slots > 0).then_some(ProposalRoom { account, repository, slots }))
    }
}

/// Open proposals of a repository that no approval can unblock: a rule refuses them, they conflict with others over a
/// name or an address, or they depend on something that no change of their plan provides. They do not count towards the
/// cap.
pub(crate) async fn stuck_proposals(
    reading: &mut Reading,
    account: &Account,
    repository: &Repository,
    now: Timestamp,
) -> Result<BTreeSet<ProposalId>, StoreError> {
    let filter = ProposalFilter {
        statuses: vec![Status::PendingApproval, Status::Approved],
        source: Some(ProposalSource::Repository(repository.id.clone())),
        ..ProposalFilter::default()
    };
    let open = reading.proposals(&account.id, &filter, None, i32::MAX as usize).await?;
    let changes: Vec<Change> = open.iter().map(Proposal::effective_change).collect();
    let candidates: Vec<Candidate<'_>> =
        open.iter().zip(&changes).map(|(proposal, change)| proposal.candidate(change)).collect();
    let world = load_account_state(reading, &account.id, &candidates, DeclarationSource::Stored).await?;
    let changed = changes.iter().map(|change| &change.key);
    let gatekeeper = with_hosts(Gatekeeper::before_approvals(account), reading, account, changed).await?;
    let stuck = open.iter().zip(&candidates).filter(|(proposal, candidate)| {
        let consent = gatekeeper.judge(proposal, Some(repository), &[], now).consent;
        matches!(consent, Consent::Refused { .. })
            || waits_outside_plan(candidate.change, &proposal.waits_for, &world)
            || !world.conflicts(**candidate).is_empty()
    });
    Ok(stuck.map(|(proposal, _)| proposal.id.clone()).collect())
}

/// The result of an attempt to open the next changes of a plan.
enum OpenAttempt {
    /// The attempt is complete.
    Done(OpenNextResult),
    /// Nothing was written: these contents must be compared first, while no transaction is open.
    Needs(Vec<ContentChange>),
}

async fn open_some(
    server: &Control,
    account_id: &AccountId,
    planned: &UnopenedPlan,
) -> Result<OpenNextResult, StoreError> {
    let mut contents = None;
    loop {
        match try_to_open(server, account_id, planned, contents.as_ref()).await? {
            OpenAttempt::Done(next) => return Ok(next),
            OpenAttempt::Needs(changes) => {
                let mirror = server.mirror_directory(&planned.repository_id);
                contents = Some(ContentDifferences::compare_in_mirror(mirror, changes).await);
            }
        }
    }
}

/// Opens the next changes of a plan, unless file contents must be compared first.
async fn try_to_open(
    server: &Control,
    account_id: &AccountId,
    planned: &UnopenedPlan,
    contents: Option<&ContentDifferences>,
) -> Result<OpenAttempt, StoreError> {
    let now = now();
    let mut writing = server.store().write_account(account_id).await?;
    let found = writing.plans_unopened(account_id).await?;
    let Some(unopened) = found.into_iter().find(|found| found.run_id == planned.run_id) else {
        return Ok(OpenAttempt::Done(OpenNextResult::Nothing));
    };
    let room = ProposalRoom::of(&mut writing, server, account_id, &unopened.repository_id).await?;
    let run = writing.run_head(account_id, &unopened.run_id).await?;
    let (Some(room), Some(mut run)) = (room, run) else {
        return Ok(OpenAttempt::Done(OpenNextResult::Nothing));
    };
    credit_pushers(&mut writing, &mut run, now).await?;
    let openable = find_openable_changes(&mut writing, &room, &unopened, now).await?;
    let offered = ProposalOffer { keep: Vec::new(), open: openable.open };
    let nothing = ContentDifferences::default();
    let contents = match contents.map_or_else(|| offered.if_no_lookup_is_needed(&nothing), Ok) {
        Ok(contents) => contents,
        Err(changes) => return Ok(OpenAttempt::Needs(changes)),
    };
    let changes = offered.open.iter().map(|planned| &planned.change);
    let plan_id = Some(&unopened.plan_id);
    let set_approvals = SetApprovals::load(&mut writing, &room.repository.id, plan_id, changes).await?;
    let offer = OpenContext {
        contents,
        account: &room.account,
        repository: &room.repository,
        run: &run,
        set_approvals: &set_approvals,
        expires_at: now.plus(server.config().intervals.proposal_lifetime),
        now,
    };
    let files = openable.files;
    let opened = open_proposals(&mut writing, &offer, &offered, |_| files).await?;
    let is_approved = opened.iter().any(|proposal| proposal.status == Status::Approved);
    let remaining = run.remaining.saturating_sub(opened.len());
    if !writing.run_record_opened(&unopened, remaining, openable.next).await? {
        return Ok(OpenAttempt::Done(OpenNextResult::Nothing));
    }
    update_run(&mut writing, &run.id, now).await?;
    crash_point("open.before_commit");
    server.commit(writing).await?;
    crash_point("open.committed");
    let is_unfinished = openable.next.is_some() && opened.len() < room.slots;
    Ok(OpenAttempt::Done(if is_approved || is_unfinished {
        OpenNextResult::Ready
    } else {
        OpenNextResult::Nothing
    }))
}

/// Adds the people who pushed the run's commit, in case the forge reported them only after the run.
async fn credit_pushers(reading: &mut Reading, run: &mut Run, now: Timestamp) -> Result<(), StoreError> {
    let Some(commit) = &run.commit_sha else { return Ok(()) };
    let pushers = reading.pushers(&run.repository_id, commit, now).await?;
    run.contributors.add(pushers);
    Ok(())
}

/// The openable changes of a plan from a position on.
struct OpenableChanges {
    /// Changes to open, in order.
    open: Vec<PlannedChange>,
    /// Where each is declared.
    files: Vec<Option<(String, usize)>>,
    /// The position to continue from; none at the end of the plan.
    next: Option<usize>,
}

/// The next changes of a plan that can be opened as they were planned. Others are left to the next sync.
async fn find_openable_changes(
    writing: &mut AccountWriting,
    room: &ProposalRoom,
    unopened: &UnopenedPlan,
    now: Timestamp,
) -> Result<OpenableChanges, StoreError> {
    let mut found =
        OpenableChanges { open: Vec::new(), files: Vec::new(), next: Some(unopened.next_position) };
    let obstacles = Obstacles::load(writing, &room.repository, now).await?;
    let mut seen = 0;
    while let Some(position) = found.next {
        let free = room.slots - found.open.len();
        if free == 0 || seen >= MAX_CHECKED_PER_TRANSACTION {
            break;
        }
        let mut part = writing.plan_steps_from(&unopened.plan_id, position).await?;
        part.truncate(free);
        found.next = part.last().map(|(position, _)| position + 1);
        seen += part.len();
        let keys: Vec<ResourceKey> = part.iter().map(|(_, step)| step.key()).collect();
        let accepted: ResourceMap<Resource> = writing
            .resources_of(&room.account.id, &keys)
            .await?
            .into_iter()
            .map(|resource| (resource.key.clone(), resource))
            .collect();
        let wanted = writing.desired_of(&room.repository.id, &keys).await?;
        for ((position, step), key) in part.into_iter().zip(keys) {
            let accepted = accepted.get(key.kind, &key.name);
            let wanted = wanted.get(key.kind, &key.name);
            let facts = StepFacts {
                accepted: accepted.map(|accepted| accepted.digest),
                desired: wanted.map(|(wanted, _)| wanted.digest),
                obstacle: obstacles.of(&key, &step, accepted),
            };
            if can_open(&step, &facts) {
                found.files.push(wanted.map(|(wanted, _)| (wanted.file.clone(), 0)));
                found.open.push(planned_change(position, key, step, accepted, wanted));
            }
        }
    }
    Ok(found)
}

fn planned_change(
    position: usize,
    key: ResourceKey,
    step: StoredStep,
    accepted: Option<&Resource>,
    wanted: Option<&(DesiredResource, Arc<Spec>)>,
) -> PlannedChange {
    let change = Change {
        key,
        cause: step.cause,
        before: accepted.map(|accepted| Arc::clone(&accepted.spec)),
        base: step.base,
        after: wanted.map(|(_, spec)| Arc::clone(spec)),
        desired: step.desired,
    };
    let declared_in = accepted.and_then(|accepted| accepted.declared_in.clone());
    let previous_file = declared_in.or_else(|| wanted.and_then(|(wanted, _)| wanted.previous_file.clone()));
    PlannedChange { position, change, waits_for: step.waits_for, previous_file }
}

/// What prevents changes of a repository from being opened.
struct Obstacles {
    repository_id: RepositoryId,
    open: ResourceMap<()>,
    rejected: ResourceMap<RejectedChange>,
    acceptances: Acceptances,
    now: Timestamp,
}

impl Obstacles {
    async fn load(
        reading: &mut Reading,
        repository: &Repository,
        now: Timestamp,
    ) -> Result<Obstacles, StoreError> {
        let open = reading.proposals_open_of(&repository.id).await?;
        let rejected = reading.proposals_rejected(&repository.id).await?;
        let acceptances = reading.acceptances(&repository.id).await?;
        Ok(Obstacles {
            repository_id: repository.id.clone(),
            open: open.into_iter().map(|offered| (offered.key, ())).collect(),
            rejected: rejected.into_iter().map(|declined| (declined.key.clone(), declined)).collect(),
            acceptances: acceptances.into_iter().collect(),
            now,
        })
    }

    fn of(&self, key: &ResourceKey, step: &StoredStep, accepted: Option<&Resource>) -> Option<OpenObstacle> {
        let owner = accepted.and_then(|accepted| accepted.owner_id.as_ref());
        if self.open.contains(key.kind, &key.name) {
            return Some(OpenObstacle::Open);
        }
        let rejected = self.rejected.get(key.kind, &key.name);
        let is_same =
            |declined: &RejectedChange| declined.base == step.base && declined.desired == step.desired;
        if rejected.is_some_and(is_same) {
            return Some(OpenObstacle::Rejected);
        }
        if self.acceptances.of(key, step.desired, step.base, self.now).is_some() {
            return Some(OpenObstacle::Accepted);
        }
        owner.is_some_and(|owner| *owner != self.repository_id).then_some(OpenObstacle::Foreign)
    }
}
