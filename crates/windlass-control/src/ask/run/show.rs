//! Listing and showing sync runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_api::types::{ActionInfo, PageMeta, RunErrorInfo, RunInfo, RunList, RunProposal};
use windlass_core::id::{ProposalId, RepositoryId, RunId};
use windlass_core::proposal::{BlockedBy, Proposal, Status};
use windlass_core::run::{Run, RunStatus, Stage};
use windlass_core::time::Timestamp;
use windlass_store::{Reading, StoreError};

use crate::ask::plan_facts::PlanContext;
use crate::caller::Identity;
use crate::control::Control;
use crate::page::{PageQuery, cut, read_id};
use crate::payload::payload_of;
use crate::refusal::Refusal;

/// The longest wait for a run, in seconds.
const LONGEST_WAIT: u64 = 60;

/// The run, as soon as it is no longer in progress or the wait is over.
pub async fn load(
    server: &Control,
    who: &Identity,
    run_id: &RunId,
    seconds: u64,
) -> Result<RunInfo, Refusal> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds.min(LONGEST_WAIT));
    let mut writes = server.watch_writes();
    loop {
        writes.borrow_and_update();
        let mut reading = server.store().read_snapshot().await?;
        let run = reading.run_head(&who.account_id, run_id).await?.ok_or_else(Refusal::not_found)?;
        if run.status != RunStatus::InProgress || tokio::time::Instant::now() >= deadline {
            let run = reading.run(&who.account_id, run_id).await?.ok_or_else(Refusal::not_found)?;
            let plan = PlanContext::load(&mut reading, &run).await?;
            return Ok(plan.add_to(info(&mut reading, run, RunDetail::Whole).await?));
        }
        drop(reading);
        // Checks every second in case this server misses a notification about another replica's write.
        let _ = tokio::time::timeout_at(
            deadline.min(tokio::time::Instant::now() + Duration::from_secs(1)),
            writes.changed(),
        )
        .await;
    }
}

/// A page of runs, newest first.
pub async fn load_page(
    reading: &mut Reading,
    who: &Identity,
    repository_id: Option<&RepositoryId>,
    page: &PageQuery,
) -> Result<RunList, Refusal> {
    let limit = page.limit()?;
    let before = page.after_as(read_id)?;
    let mut runs = reading.runs(&who.account_id, repository_id, before.as_ref(), limit + 1).await?;
    let meta = cut(&mut runs, limit, |run| run.id.to_string());
    let mut sync_runs = Vec::with_capacity(runs.len());
    for run in runs {
        sync_runs.push(info(reading, run, RunDetail::Head).await?);
    }
    Ok(RunList { sync_runs, meta })
}

/// A run without its proposals; none if it was deleted.
pub async fn load_head(
    reading: &mut Reading,
    who: &Identity,
    run_id: &RunId,
) -> Result<Option<RunInfo>, Refusal> {
    match reading.run(&who.account_id, run_id).await? {
        Some(run) => {
            let plan = PlanContext::load(reading, &run).await?;
            Ok(Some(plan.add_to(info(reading, run, RunDetail::Head).await?)))
        }
        None => Ok(None),
    }
}

/// A run with a part of its proposals: those in one of these states, a page at a time.
pub struct RunSlice {
    /// The run. Its proposals and actions are those of the page.
    pub run: RunInfo,
    /// How many of all its proposals are in each state.
    pub tally: BTreeMap<Status, usize>,
    /// When the last decision about one of them was made.
    pub decided_at: Option<Timestamp>,
    /// Where the next page starts.
    pub meta: PageMeta,
}

/// A run with a part of its proposals. A run may have thousands; only one page of them is read.
pub async fn load_part(
    reading: &mut Reading,
    who: &Identity,
    run_id: &RunId,
    statuses: &[Status],
    page: &PageQuery,
) -> Result<RunSlice, Refusal> {
    let (limit, after) = (page.limit()?, page.after_as(read_place)?);
    let run = reading.run(&who.account_id, run_id).await?.ok_or_else(Refusal::not_found)?;
    let after = after.as_ref().map(|(position, id)| (*position, id));
    let mut found = reading.run_proposals_page(&run.id, statuses, after, limit + 1).await?;
    let meta = cut(&mut found, limit, |(position, proposal)| format!("{position} {}", proposal.id));
    let counted = reading.run_tally(&run.id).await?;
    let tally: BTreeMap<Status, usize> = counted.iter().map(|(status, count, _)| (*status, *count)).collect();
    let pending = tally.get(&Status::PendingApproval).copied().unwrap_or_default();
    let proposals: Vec<Proposal> = found.into_iter().map(|(_, proposal)| proposal).collect();
    let plan = PlanContext::load(reading, &run).await?;
    Ok(RunSlice {
        run: plan.add_to(run_info(run, &proposals, pending, RunDetail::Whole)?),
        decided_at: counted.iter().filter_map(|(_, _, at)| *at).max(),
        tally,
        meta,
    })
}

fn read_place(text: &str) -> Option<(usize, ProposalId)> {
    let (position, id) = text.split_once(' ')?;
    Some((position.parse().ok()?, read_id(id)?))
}

/// How much of a run a response shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RunDetail {
    /// With its diff, its problems and its proposals.
    Whole,
    /// Without these, as in lists.
    Head,
}

/// A run as responses show it.
pub async fn info(reading: &mut Reading, run: Run, detail: RunDetail) -> Result<RunInfo, StoreError> {
    let proposals = match detail {
        RunDetail::Whole => reading.run_proposals(&run.id).await?,
        RunDetail::Head => Vec::new(),
    };
    let pending = proposals.iter().filter(|proposal| proposal.status == Status::PendingApproval).count();
    run_info(run, &proposals, pending, detail)
}

/// Deserializes a document that is stored with a run.
fn stored<T: DeserializeOwned>(column: &str, document: Value) -> Result<T, StoreError> {
    serde_json::from_value(document)
        .map_err(|error| StoreError::Broken { column: column.to_owned(), value: error.to_string() })
}

/// A run with some of its proposals; `pending` counts all of its proposals that need approval.
fn run_info(
    run: Run,
    proposals: &[Proposal],
    pending: usize,
    detail: RunDetail,
) -> Result<RunInfo, StoreError> {
    let is_open = |proposal: &&Proposal| proposal.status.is_open();
    let action = |proposal: &Proposal| action_info(proposal);
    let of = |wanted: &[Status]| {
        proposals.iter().filter(|proposal| wanted.contains(&proposal.status)).map(action).collect::<Vec<_>>()
    };
    let mut skipped: Vec<ActionInfo> = stored("skipped", run.skipped.clone())?;
    skipped.extend(of(&[Status::Rejected, Status::Superseded, Status::Withdrawn, Status::Expired]));
    let requires_approval = match detail {
        RunDetail::Whole => pending > 0,
        RunDetail::Head => matches!(run.status, RunStatus::DiffReady | RunStatus::Partial),
    };
    Ok(RunInfo {
        waiting_for: waiting_for(&run, pending, proposals.iter().filter(is_open)),
        id: run.id.to_string(),
        repository_id: run.repository_id.to_string(),
        repository_name: run.repository_name,
        status: run.status,
        stage: run.stage,
        trigger: run.trigger,
        requested_by: run.requested_by,
        commit_sha: run.commit_sha,
        commit_author: run.commit_author,
        commit_subject: run.commit_subject,
        commit_message: run.commit_message,
        movement: run.movement,
        diff: if detail == RunDetail::Whole { run.diff } else { Value::Null },
        diff_count: run.diff_count,
        remaining: run.remaining,
        requires_approval,
        approval_request_id: run.id.to_string(),
        plan_digest: None,
        sets: Vec::new(),
        holds_proposals: false,
        applied_actions: of(&[Status::Applied, Status::AppliedManually]),
        failed_actions: of(&[Status::Failed]),
        skipped_actions: skipped,
        proposals: proposals.iter().map(proposal_info).collect(),
        drift_after_apply: run.drift_after_apply,
        problems: stored("problems", run.problems)?,
        error: run.error.map(|error| RunErrorInfo {
            code: error.code,
            message: error.message,
            help: error.help,
        }),
        created_at: run.created_at.to_string(),
        started_at: run.started_at.map(|at| at.to_string()),
        completed_at: run.completed_at.map(|at| at.to_string()),
        applied_at: run.applied_at.map(|at| at.to_string()),
    })
}

fn waiting_for<'p>(run: &Run, pending: usize, open: impl Iterator<Item = &'p Proposal>) -> Vec<String> {
    let mut reasons = Vec::new();
    match (run.status, run.stage) {
        (RunStatus::InProgress, Stage::Queued) => {
            reasons.push("a worker, or the previous run of the same repository".to_owned());
        }
        (RunStatus::InProgress, Stage::Fetching) => reasons.push("the git server".to_owned()),
        (RunStatus::InProgress, _) => reasons.push("the comparison".to_owned()),
        _ => {}
    }
    if pending > 0 {
        reasons.push(if pending == 1 { "1 approval".to_owned() } else { format!("{pending} approvals") });
    }
    for proposal in open.filter(|proposal| proposal.status == Status::Approved) {
        reasons.extend(proposal.blocked_by.iter().map(|reason| format!("{}: {reason}", proposal.change.key)));
    }
    match (run.remaining, run.next_position) {
        (0, _) => {}
        (remaining, Some(_)) => {
            reasons.push(format!("the cap: {remaining} more changes follow as proposals are closed"));
        }
        (remaining, None) if pending == 0 => {
            reasons.push(format!("the next sync, which proposes more of the {remaining} remaining changes"));
        }
        _ => {}
    }
    reasons
}

fn action_name(proposal: &Proposal) -> String {
    format!("{}_{}", proposal.change.action(), proposal.change.key.kind)
}

fn action_info(proposal: &Proposal) -> ActionInfo {
    ActionInfo {
        proposal_id: Some(proposal.id.to_string()),
        action: action_name(proposal),
        kind: proposal.change.key.kind.slug().to_owned(),
        name: proposal.change.key.name.clone(),
        reason: proposal.reason.as_ref().map(ToString::to_string).or_else(|| {
            (proposal.status == Status::Rejected)
                .then(|| format!("rejected by {}", proposal.decided_by.as_deref().unwrap_or("someone")))
        }),
        at: proposal.closed_at.map(|at| at.to_string()),
    }
}

fn proposal_info(proposal: &Proposal) -> RunProposal {
    RunProposal {
        id: proposal.id.to_string(),
        action: action_name(proposal),
        kind: proposal.change.key.kind.slug().to_owned(),
        name: proposal.change.key.name.clone(),
        change: proposal.change.action(),
        payload: payload_of(proposal),
        status: proposal.status,
        blocked_by: BlockedBy::sentences(&proposal.blocked_by),
        blocked_by_kinds: BlockedBy::kinds(&proposal.blocked_by),
    }
}
