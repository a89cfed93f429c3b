//! Sync runs.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_api::permission::Permission;
use windlass_api::types::{
    ActionInfo, PageMeta, RunEnvelope, RunErrorInfo, RunInfo, RunList, RunProposal, SyncBody,
};
use windlass_core::diff::hide_secrets;
use windlass_core::proposal::{RunStatus, Status};
use windlass_core::shape::Defaults;
use windlass_core::time::Timestamp;
use windlass_store::{Proposal, Reading, Repository, Run, Stage, StoreError, Trigger};

use super::audit::PageQueryText;
use super::page::{PageQuery, cut, read_id};
use super::plan_sets::PlanFacts;
use super::repositories::find;
use super::request::{Answer, Body, Query, json_accepted, ok};
use crate::auth::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::gatekeeper::may_approve;
use crate::payload::with_name;
use crate::refusal::Refusal;
use crate::server::Server;
use crate::sync::{MassDestroy, SyncRequest, queue_run};
use crate::tell;

/// The longest wait for a run.
const LONGEST_WAIT: u64 = 60;

#[derive(Deserialize)]
pub(super) struct WaitQuery {
    wait: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct ListQuery {
    #[serde(flatten)]
    page: PageQueryText,
    repository: Option<String>,
}

pub(super) async fn sync_now(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Query(query): Query<WaitQuery>,
    Body(body): Body<SyncBody>,
) -> Answer {
    let run_id = request_sync(&server, &who, &id, &body).await?;
    let info = load(&server, &who, &run_id, query.wait.unwrap_or(0)).await?;
    json_accepted(&RunEnvelope { sync_run: info })
}

/// Asks for a sync, and tells which run it will be.
pub(crate) async fn request_sync(
    server: &Control,
    who: &Identity,
    id: &str,
    body: &SyncBody,
) -> Result<String, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id).await?;
    let mass_destroy = read_confirmation(&mut writing, who, &repository, body).await?;
    let mut detail = json!({"confirm_mass_destroy": body.confirm_mass_destroy});
    if let MassDestroy::Confirmed { commit } = &mass_destroy {
        detail["commit_sha"] = json!(commit);
    }
    let request = SyncRequest { mass_destroy, ..SyncRequest::new(Trigger::Request, Some(&who.email)) };
    let run_id = queue_run(&mut writing, &repository, &request, now).await?;
    detail["sync_run_id"] = json!(run_id);
    writing.audit(tell::entry(
        &who.actor(),
        "repository.sync",
        ("repository", &repository.name),
        detail,
        now,
    ));
    server.commit(writing).await?;
    server.nudges().sync.notify_one();
    Ok(run_id)
}

/// What a request says of a mass destroy. Saying that it is meant is a decision, and one about a commit: the one that is
/// given, or the one of the newest run that was stopped.
async fn read_confirmation(
    reading: &mut Reading,
    who: &Identity,
    repository: &Repository,
    body: &SyncBody,
) -> Result<MassDestroy, Refusal> {
    let given = body.commit.as_deref().map(str::trim).filter(|commit| !commit.is_empty());
    if !body.confirm_mass_destroy {
        let message = "`commit` says for which commit a mass destroy is confirmed, and none is";
        let help = "leave `commit` out, or set `confirm_mass_destroy`";
        return match given {
            Some(_) => Err(Refusal::unprocessable("conflicting-keys", message, help)),
            None => Ok(MassDestroy::Unconfirmed),
        };
    }
    if !may_approve(who) {
        let needed = Permission::GitopsApprove;
        return Err(Refusal::forbidden(
            format!("confirming a mass destroy is a decision: this needs the permission {needed}"),
            "ask someone who may approve to confirm it, or sync without confirming",
        ));
    }
    let commit = match given {
        Some(commit) => Some(read_commit(commit)?),
        None => reading.run_stopped(&who.account_id, &repository.id).await?.and_then(|run| run.commit_sha),
    };
    Ok(MassDestroy::Confirmed { commit })
}

/// A whole id of a commit, as runs show it.
fn read_commit(text: &str) -> Result<String, Refusal> {
    let is_whole = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match is_whole {
        true => Ok(text.to_ascii_lowercase()),
        false => Err(Refusal::unprocessable(
            "bad-value",
            "commit: it is not the whole id of a commit",
            "give the `commit_sha` of the run that was stopped",
        )),
    }
}

/// The run, as soon as it has compared or the wait is over.
pub(crate) async fn load(
    server: &Control,
    who: &Identity,
    run_id: &str,
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
            let plan = PlanFacts::load(&mut reading, &run).await?;
            return Ok(plan.tell(info(&mut reading, run, Detail::Whole).await?));
        }
        drop(reading);
        // Another replica's writes are not heard here, so look now and then.
        let _ = tokio::time::timeout_at(
            deadline.min(tokio::time::Instant::now() + Duration::from_secs(1)),
            writes.changed(),
        )
        .await;
    }
}

pub(super) async fn list_of_repository(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Query(page): Query<PageQuery>,
) -> Answer {
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, &who, &id).await?;
    ok(&load_page(&mut reading, &who, Some(&repository.id), &page).await?)
}

pub(super) async fn list(
    State(server): State<Server>,
    who: Identity,
    Query(query): Query<ListQuery>,
) -> Answer {
    let mut reading = server.store().read().await?;
    let repository = match &query.repository {
        Some(repository) => Some(find(&mut reading, &who, repository).await?.id),
        None => None,
    };
    ok(&load_page(&mut reading, &who, repository.as_deref(), &query.page.read()?).await?)
}

/// A page of runs, newest first.
pub(crate) async fn load_page(
    reading: &mut Reading,
    who: &Identity,
    repository: Option<&str>,
    page: &PageQuery,
) -> Result<RunList, Refusal> {
    let limit = page.limit()?;
    let before = page.after_as(read_id)?;
    let mut runs = reading.runs(&who.account_id, repository, before.as_deref(), limit + 1).await?;
    let meta = cut(&mut runs, limit, |run| run.id.clone());
    let mut sync_runs = Vec::with_capacity(runs.len());
    for run in runs {
        sync_runs.push(info(reading, run, Detail::Head).await?);
    }
    Ok(RunList { sync_runs, meta })
}

/// A run without its proposals; none if it is not kept any more.
pub(crate) async fn load_head(
    reading: &mut Reading,
    who: &Identity,
    run_id: &str,
) -> Result<Option<RunInfo>, Refusal> {
    match reading.run(&who.account_id, run_id).await? {
        Some(run) => {
            let plan = PlanFacts::load(reading, &run).await?;
            Ok(Some(plan.tell(info(reading, run, Detail::Head).await?)))
        }
        None => Ok(None),
    }
}

/// A run with a part of its proposals: those in one of these states, a page at a time.
pub(crate) struct RunPart {
    /// The run. Its proposals and actions are those of the page.
    pub(crate) run: RunInfo,
    /// How many of all its proposals are in each state.
    pub(crate) tally: BTreeMap<Status, usize>,
    /// When the last of them was decided about.
    pub(crate) decided_at: Option<Timestamp>,
    /// Where the list goes on.
    pub(crate) meta: PageMeta,
}

/// A run with a part of its proposals. A run may have thousands; what is read does not grow with them.
pub(crate) async fn load_part(
    reading: &mut Reading,
    who: &Identity,
    run_id: &str,
    statuses: &[Status],
    page: &PageQuery,
) -> Result<RunPart, Refusal> {
    let (limit, after) = (page.limit()?, page.after_as(read_place)?);
    let run = reading.run(&who.account_id, run_id).await?.ok_or_else(Refusal::not_found)?;
    let after = after.as_ref().map(|(position, id)| (*position, id.as_str()));
    let mut found = reading.run_proposals_page(&run.id, statuses, after, limit + 1).await?;
    let meta = cut(&mut found, limit, |(position, proposal)| format!("{position} {}", proposal.id));
    let counted = reading.run_tally(&run.id).await?;
    let tally: BTreeMap<Status, usize> = counted.iter().map(|(status, count, _)| (*status, *count)).collect();
    let pending = tally.get(&Status::PendingApproval).copied().unwrap_or_default();
    let proposals: Vec<Proposal> = found.into_iter().map(|(_, proposal)| proposal).collect();
    let plan = PlanFacts::load(reading, &run).await?;
    Ok(RunPart {
        run: plan.tell(tell_run(run, &proposals, pending, Detail::Whole)),
        decided_at: counted.iter().filter_map(|(_, _, at)| *at).max(),
        tally,
        meta,
    })
}

fn read_place(text: &str) -> Option<(usize, String)> {
    let (position, id) = text.split_once(' ')?;
    Some((position.parse().ok()?, read_id(id)?))
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Query(query): Query<WaitQuery>,
) -> Answer {
    let info = load(&server, &who, &id, query.wait.unwrap_or(0)).await?;
    // By itself as the runbook prints it, and under its name as everything else.
    let mut body = json!(info);
    body["sync_run"] = json!(info);
    ok(&body)
}

/// How much of a run to tell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// With its diff, its problems and its proposals.
    Whole,
    /// Without, as in lists.
    Head,
}

async fn info(reading: &mut Reading, run: Run, detail: Detail) -> Result<RunInfo, StoreError> {
    let proposals = match detail {
        Detail::Whole => reading.run_proposals(&run.id).await?,
        Detail::Head => Vec::new(),
    };
    let pending = proposals.iter().filter(|proposal| proposal.status == Status::PendingApproval).count();
    Ok(tell_run(run, &proposals, pending, detail))
}

/// A run with these of its proposals, of all of which so many wait for approval.
fn tell_run(run: Run, proposals: &[Proposal], pending: usize, detail: Detail) -> RunInfo {
    let is_open = |proposal: &&Proposal| proposal.status.is_open();
    let action = |proposal: &Proposal| action_info(proposal);
    let of = |wanted: &[Status]| {
        proposals.iter().filter(|proposal| wanted.contains(&proposal.status)).map(action).collect::<Vec<_>>()
    };
    let mut skipped: Vec<ActionInfo> = serde_json::from_value(run.skipped.clone()).unwrap_or_default();
    skipped.extend(of(&[Status::Rejected, Status::Superseded, Status::Withdrawn, Status::Expired]));
    let requires_approval = match detail {
        Detail::Whole => pending > 0,
        Detail::Head => matches!(run.status, RunStatus::DiffReady | RunStatus::Partial),
    };
    RunInfo {
        waiting_for: waiting_for(&run, pending, proposals.iter().filter(is_open)),
        id: run.id.clone(),
        repository_id: run.repository_id,
        repository_name: run.repository_name,
        status: run.status.slug().to_owned(),
        stage: run.stage.slug().to_owned(),
        trigger: run.trigger.slug().to_owned(),
        requested_by: run.requested_by,
        commit_sha: run.commit_sha,
        commit_author: run.commit_author,
        commit_subject: run.commit_subject,
        commit_message: run.commit_message,
        movement: run.movement,
        diff: if detail == Detail::Whole { run.diff } else { Value::Null },
        diff_count: run.diff_count,
        remaining: run.remaining,
        requires_approval,
        approval_request_id: run.id,
        plan_digest: None,
        sets: Vec::new(),
        holds_proposals: false,
        applied_actions: of(&[Status::Applied, Status::AppliedManually]),
        failed_actions: of(&[Status::Failed]),
        skipped_actions: skipped,
        proposals: proposals.iter().map(proposal_info).collect(),
        drift_after_apply: run.drift_after_apply,
        problems: serde_json::from_value(run.problems).unwrap_or_default(),
        error: run.error.map(|error| RunErrorInfo {
            code: error.code,
            message: error.message,
            help: error.help,
        }),
        created_at: run.created_at.to_string(),
        started_at: run.started_at.map(|at| at.to_string()),
        completed_at: run.completed_at.map(|at| at.to_string()),
        applied_at: run.applied_at.map(|at| at.to_string()),
    }
}

fn waiting_for<'p>(run: &Run, pending: usize, open: impl Iterator<Item = &'p Proposal>) -> Vec<String> {
    let mut waits = Vec::new();
    match (run.status, run.stage) {
        (RunStatus::InProgress, Stage::Queued) => {
            waits.push("a worker, or the run before it on the same repository".to_owned());
        }
        (RunStatus::InProgress, Stage::Fetching) => waits.push("the git server".to_owned()),
        (RunStatus::InProgress, _) => waits.push("the comparison".to_owned()),
        _ => {}
    }
    if pending > 0 {
        waits.push(if pending == 1 { "1 approval".to_owned() } else { format!("{pending} approvals") });
    }
    for proposal in open.filter(|proposal| proposal.status == Status::Approved) {
        waits.extend(proposal.blocked_by.iter().map(|reason| format!("{}: {reason}", proposal.change.key)));
    }
    match (run.remaining, run.next_position) {
        (0, _) => {}
        (remaining, Some(_)) => {
            waits.push(format!("room for {remaining} more, which are proposed as others are done"));
        }
        (remaining, None) if pending == 0 => {
            waits.push(format!("the next sync, which proposes more of the remaining {remaining}"));
        }
        _ => {}
    }
    waits
}

fn action_name(proposal: &Proposal) -> String {
    format!("{}_{}", proposal.change.action(), proposal.change.key.kind)
}

fn action_info(proposal: &Proposal) -> ActionInfo {
    ActionInfo {
        proposal_id: Some(proposal.id.clone()),
        action: action_name(proposal),
        kind: proposal.change.key.kind.slug().to_owned(),
        name: proposal.change.key.name.clone(),
        reason: proposal.reason.clone().or_else(|| {
            (proposal.status == Status::Rejected)
                .then(|| format!("rejected by {}", proposal.decided_by.as_deref().unwrap_or("someone")))
        }),
        at: proposal.closed_at.map(|at| at.to_string()),
    }
}

/// The spec a proposal is about, with its name, secrets hidden.
pub(super) fn payload_of(proposal: &Proposal) -> Value {
    let spec = proposal.change.after.as_ref().or(proposal.change.before.as_ref());
    let spec = spec.map_or(Value::Null, |spec| hide_secrets(spec.to_json(Defaults::Omit)));
    with_name(&proposal.change.key, spec)
}

fn proposal_info(proposal: &Proposal) -> RunProposal {
    RunProposal {
        id: proposal.id.clone(),
        action: action_name(proposal),
        kind: proposal.change.key.kind.slug().to_owned(),
        name: proposal.change.key.name.clone(),
        change: proposal.change.action().to_string(),
        payload: payload_of(proposal),
        status: proposal.status.slug().to_owned(),
        blocked_by: proposal.blocked_by.clone(),
    }
}
