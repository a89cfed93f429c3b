//! Applies changes in one transaction: each resource with its event, its audit entry and its proposal's new state.

use std::time::{Duration, Instant};

use tracing::field::Empty;
use tracing::{Instrument as _, Span};
use windlass_core::apply::Verdict;
use windlass_core::diff::{Action, Change};
use windlass_core::drift::Acceptance;
use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::proposal::{ApplyOrder, CloseReason, Proposal, Status};
use windlass_core::resource::{Kind, ResourceKey, ResourceMap};
use windlass_core::target_assignment::CoveringApproval;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, NewResource, ResourceToDestroy, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::crash::crash_point;
use crate::flow::apply::load_context::load_apply_context;
use crate::flow::apply::module_versions::{AppliedChange, store_versions};
use crate::flow::close::close_proposal::{ProposalClosing, close_proposals};
use crate::flow::follow::{Promotion, propose_followers};
use crate::flow::gate::return_to_pending::return_to_pending;
use crate::metrics;
use crate::record::ResourceChange;
use crate::spans::SPANS;

/// The result of a batch.
#[derive(Debug)]
pub(crate) struct ApplyBatchResult {
    /// The position of its last proposal; none if it had none.
    pub(crate) last: Option<ApplyOrder>,
    /// Whether the state of a proposal changed.
    pub(crate) has_changed: bool,
    /// Whether a proposal is blocked.
    pub(crate) has_waiting: bool,
}

/// Applies the next approved proposals after a position, at most `limit`.
pub(crate) async fn apply(
    server: &Control,
    account_id: &AccountId,
    after: Option<&ApplyOrder>,
    limit: usize,
) -> Result<ApplyBatchResult, StoreError> {
    match apply_together(server, account_id, after, limit).instrument(span_of(account_id)).await {
        Err(error) if !is_transient(&error) => apply_one_by_one(server, account_id, after, limit).await,
        done => done,
    }
}

fn span_of(account_id: &AccountId) -> Span {
    let account_id = account_id.as_str();
    tracing::trace_span!(target: SPANS, "apply", windlass.account_id = account_id, windlass.changes = Empty)
}

/// Whether the cause is not a resource but the database: nothing of the batch is stored, and Windlass retries it later.
fn is_transient(error: &StoreError) -> bool {
    matches!(error, StoreError::DiskFull(_) | StoreError::ReadOnly(_) | StoreError::Busy(_))
}

/// Applies each change in its own transaction, so that only changes that cannot be stored fail.
async fn apply_one_by_one(
    server: &Control,
    account_id: &AccountId,
    after: Option<&ApplyOrder>,
    limit: usize,
) -> Result<ApplyBatchResult, StoreError> {
    let mut whole = ApplyBatchResult { last: after.cloned(), has_changed: false, has_waiting: false };
    for _ in 0..limit {
        let after = whole.last.clone();
        let one = apply_together(server, account_id, after.as_ref(), 1);
        let one = match one.instrument(span_of(account_id)).await {
            Err(error) if !is_transient(&error) => {
                fail_next(server, account_id, after.as_ref(), &error).await?
            }
            done => done?,
        };
        let Some(last) = one.last else { break };
        whole.last = Some(last);
        whole.has_changed |= one.has_changed;
        whole.has_waiting |= one.has_waiting;
    }
    Ok(whole)
}

/// Closes the next proposal, which could not be applied, as failed.
async fn fail_next(
    server: &Control,
    account_id: &AccountId,
    after: Option<&ApplyOrder>,
    error: &StoreError,
) -> Result<ApplyBatchResult, StoreError> {
    let mut writing = server.store().write_account(account_id).await?;
    let group = writing.proposals_to_apply(account_id, after, 1).await?;
    let reason = CloseReason::ApplyFailed { error: error.to_string() };
    let closings: Vec<ProposalClosing<'_>> =
        group.iter().map(|proposal| ProposalClosing::new(proposal, Status::Failed, Some(&reason))).collect();
    for proposal in &group {
        tracing::error!(proposal = proposal.id.as_str(), %error, "could not apply a change");
    }
    close_proposals(&mut writing, &closings, None, now()).await?;
    server.commit(writing).await?;
    metrics::failed_to_apply(group.len());
    Ok(ApplyBatchResult {
        last: group.last().map(Proposal::apply_order),
        has_changed: true,
        has_waiting: false,
    })
}

/// Applies a batch in one transaction, or not at all.
async fn apply_together(
    server: &Control,
    account_id: &AccountId,
    after: Option<&ApplyOrder>,
    limit: usize,
) -> Result<ApplyBatchResult, StoreError> {
    let (now, begun) = (now(), Instant::now());
    let mut writing = server.store().write_account(account_id).await?;
    let mut group = writing.proposals_to_apply(account_id, after, limit).await?;
    cut_before_second(&mut group);
    let Some(account) = writing.account(account_id.as_str()).await? else {
        return Ok(ApplyBatchResult { last: None, has_changed: false, has_waiting: false });
    };
    let mut context = load_apply_context(&mut writing, &account, &group, now).await?;
    let verdicts: Vec<(&Proposal, Verdict)> =
        group.iter().map(|proposal| (proposal, context.judge(proposal))).collect();
    crash_point("apply.decided");
    let lifetime = server.config().intervals.proposal_lifetime;
    let outcome = save(&mut writing, &verdicts, lifetime, now).await?;
    crash_point("apply.before_commit");
    match outcome.has_news {
        true => server.commit(writing).await?,
        false => drop(writing),
    }
    crash_point("apply.committed");
    if outcome.has_queued_run {
        server.nudges().sync.notify_one();
    }
    let applied = verdicts.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Apply { .. }));
    let waited = applied.filter_map(|(proposal, _)| Some(now.elapsed_since(proposal.decided_at?)));
    metrics::changes_applied(begun.elapsed(), outcome.applied, waited);
    Span::current().record("windlass.changes", outcome.applied);
    Ok(ApplyBatchResult {
        last: group.last().map(Proposal::apply_order),
        has_changed: outcome.has_changed,
        has_waiting: verdicts.iter().any(|(_, verdict)| matches!(verdict, Verdict::Wait(_))),
    })
}

/// Cuts a batch before the second change of a resource: one transaction changes each resource once.
fn cut_before_second(group: &mut Vec<Proposal>) {
    let mut seen: ResourceMap<()> = ResourceMap::default();
    let second = group.iter().position(|proposal| seen.insert(proposal.change.key.clone(), ()).is_some());
    if let Some(second) = second {
        group.truncate(second);
    }
}

/// What was saved of a batch.
struct SavedBatch {
    applied: u64,
    has_changed: bool,
    has_news: bool,
    /// Whether a run was queued for what follows a module version.
    has_queued_run: bool,
}

async fn save(
    writing: &mut AccountWriting,
    verdicts: &[(&Proposal, Verdict)],
    lifetime: Duration,
    now: Timestamp,
) -> Result<SavedBatch, StoreError> {
    let mut made = Vec::new();
    let (mut closings, mut asked_again, mut blocked) = (Vec::new(), Vec::new(), Vec::new());
    for (proposal, verdict) in verdicts {
        match verdict {
            Verdict::Apply { change, owner_id, approval } => {
                made.push(PendingChange::new(proposal, change, owner_id.as_ref(), approval));
                closings.push(ProposalClosing::new(proposal, Status::Applied, None));
            }
            Verdict::End(status, reason) => {
                closings.push(ProposalClosing::new(proposal, *status, Some(reason)));
            }
            Verdict::AskAgain(reason) => asked_again.push((*proposal, reason.clone())),
            Verdict::Wait(reasons) if *reasons != proposal.blocked_by => {
                blocked.push((proposal.id.clone(), reasons.clone()));
            }
            Verdict::Wait(_) => {}
        }
    }
    let has_changed = !(closings.is_empty() && asked_again.is_empty());
    let has_news = has_changed || !blocked.is_empty();
    store_accepted(writing, &made, now).await?;
    accept_edited_differences(writing, &made, now).await?;
    record_events(writing, &made, now);
    let applied: Vec<AppliedChange<'_>> = made.iter().map(PendingChange::applied).collect();
    let versions = store_versions(writing, &applied, now).await?;
    return_to_pending(writing, &asked_again, now).await?;
    writing.proposals_set_blockers(&blocked).await?;
    crash_point("apply.written");
    close_proposals(writing, &closings, None, now).await?;
    let promotion = Promotion { by: promoter(&made), lifetime, now };
    let has_queued_run = propose_followers(writing, versions, &promotion).await?;
    Ok(SavedBatch { applied: made.len() as u64, has_changed, has_news, has_queued_run })
}

/// Who wants the changes of module versions in a batch.
fn promoter<'m>(made: &[PendingChange<'m>]) -> Option<&'m str> {
    let is_promotion =
        |made: &&PendingChange<'_>| matches!(made.change.key.kind, Kind::Module | Kind::ModuleVersion);
    made.iter().filter(is_promotion).find_map(|made| made.proposal.author.as_deref())
}

/// A change that is being applied.
struct PendingChange<'m> {
    proposal: &'m Proposal,
    change: &'m Change,
    /// The owner of the resource afterwards.
    owner_id: Option<&'m RepositoryId>,
    by: String,
    approval: &'m CoveringApproval,
}

impl<'m> PendingChange<'m> {
    fn new(
        proposal: &'m Proposal,
        change: &'m Change,
        owner_id: Option<&'m RepositoryId>,
        approval: &'m CoveringApproval,
    ) -> PendingChange<'m> {
        let decided_by = proposal.decided_by.as_deref().unwrap_or("windlass");
        let by = format!("{decided_by} (proposal {})", proposal.id);
        PendingChange { proposal, change, owner_id, by, approval }
    }

    fn applied(&self) -> AppliedChange<'_> {
        AppliedChange {
            change: self.change,
            by: &self.by,
            approval: self.approval,
            actor: Actor { name: self.by.clone(), ..Actor::windlass() },
            run_id: self.proposal.run_id.clone(),
            proposal_id: Some(self.proposal.id.clone()),
        }
    }

    /// The repository that proposed it, and the resource; none for a direct change.
    fn place(&self) -> Option<(&'m RepositoryId, &'m ResourceKey)> {
        Some((self.proposal.repository_id.as_ref()?, &self.change.key))
    }
}

async fn store_accepted(
    writing: &mut AccountWriting,
    made: &[PendingChange<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut put = Vec::new();
    let mut removed = Vec::new();
    for PendingChange { proposal, change, owner_id, by, approval } in made {
        let file = proposal.declared_at.as_ref().map(|(file, _)| file.as_str());
        match &change.after {
            Some(spec) => put.push(NewResource {
                key: &change.key,
                spec,
                digest: change.desired.unwrap_or_else(|| spec.digest()),
                owner_id: *owner_id,
                declared_in: file.filter(|_| !proposal.is_direct()),
                by,
                approval,
            }),
            None => removed.push(ResourceToDestroy { key: &change.key, by }),
        }
    }
    writing.resources_put(&put, now).await?;
    writing.resources_remove(&removed, now).await?;
    // Direct changes are omitted: they do not make the accepted state equal desired.
    let agreed: Vec<_> =
        made.iter().filter_map(|made| made.place().map(|(id, key)| (id, key, made.change.desired))).collect();
    writing.desired_mark_agreed_among(&agreed).await
}

/// Stores accepted drift for changes that were edited before approval: they differ from git intentionally, until git or
/// the accepted state changes. Removes it for the other changes.
async fn accept_edited_differences(
    writing: &mut AccountWriting,
    made: &[PendingChange<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let places: Vec<_> =
        made.iter().filter(|made| made.proposal.edit.is_none()).filter_map(PendingChange::place).collect();
    writing.acceptances_remove(&places).await?;
    for PendingChange { proposal, .. } in made {
        let (Some(repository_id), Some(edit)) = (&proposal.repository_id, &proposal.edit) else { continue };
        if proposal.change.action() == Action::Destroy || Some(edit.digest) == proposal.change.desired {
            continue;
        }
        let acceptance = Acceptance {
            key: proposal.change.key.clone(),
            desired: proposal.change.desired,
            accepted: Some(edit.digest),
            until: None,
            reason: format!("edited before approval (proposal {})", proposal.id),
            by: edit.by.clone(),
            at: now,
        };
        writing.acceptance_put(repository_id, &acceptance).await?;
    }
    Ok(())
}

fn record_events(writing: &mut AccountWriting, made: &[PendingChange<'_>], now: Timestamp) {
    for PendingChange { proposal, change, owner_id, by, .. } in made {
        let actor = Actor { name: by.clone(), ..Actor::windlass() };
        let resource_change = ResourceChange {
            change,
            repository_id: owner_id.or_else(|| proposal.governing_repository()).cloned(),
            run_id: proposal.run_id.clone(),
            proposal_id: Some(proposal.id.clone()),
            actor: &actor,
            audit_action: "proposal.apply",
            now,
        };
        let (event, entry) = resource_change.event_and_entry();
        writing.event(event);
        writing.audit(entry);
    }
}
