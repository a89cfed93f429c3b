//! Drift: the report, and the three things to do about it.

use std::sync::Arc;

use axum::extract::{Path, State};
use serde_json::json;
use windlass_api::permission::Permission;
use windlass_api::types::{
    AcceptBody, Acceptance as AcceptanceInfo, AdoptBody, Adopted, DriftItem, DriftReport, DriftTarget,
    Reverted,
};
use windlass_core::adopt::{AdoptError, Edited, adopt as adopt_accepted, patch};
use windlass_core::diff::short_document;
use windlass_core::drift::{Acceptance, Difference, Origin};
use windlass_core::manifest::Context;
use windlass_core::proposal::Status;
use windlass_core::quarantine::WorkEnd;
use windlass_core::resource::{Kind, ResourceKey, ResourceMap, Spec};
use windlass_core::time::Timestamp;
use windlass_source::{Author, Branch, CommitId, Mirror, NewFile, Push};
use windlass_store::{ProposalFilter, Reading, Repository, Severity, Trigger};

use super::repositories::find;
use super::request::{Answer, Body, json_accepted, ok};
use crate::auth::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::drift::{Found, differences_of, fields_of, last_change};
use crate::gatekeeper::may_approve;
use crate::quarantine::{Leave, Requested, requested, to_the_end};
use crate::refusal::Refusal;
use crate::server::Server;
use crate::sync::{FetchPlan, SyncRequest, internal, queue_run, read_fleet_at, told};
use crate::{tell, world};

pub(super) async fn report(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    let mut reading = server.store().read_snapshot().await?;
    let repository = find(&mut reading, &who, &id).await?;
    ok(&report_of(&mut reading, &who, &repository).await?)
}

async fn report_of(
    reading: &mut Reading,
    who: &Identity,
    repository: &Repository,
) -> Result<DriftReport, Refusal> {
    let found = differences_of(reading, &who.account_id, &repository.id).await?;
    let filter = ProposalFilter {
        statuses: vec![Status::PendingApproval, Status::Approved],
        repository_id: Some(repository.id.clone()),
        ..ProposalFilter::default()
    };
    let mut open: ResourceMap<String> = reading
        .proposals(&who.account_id, &filter, None, i32::MAX as usize)
        .await?
        .into_iter()
        .map(|proposal| (proposal.change.key, proposal.id))
        .collect();
    let (mut drifted, mut pending, mut settled) = (Vec::new(), Vec::new(), Vec::new());
    for difference in &found.differences {
        let mut item = load_item(reading, who, repository, &found, difference).await?;
        item.proposal_id = open.remove(difference.key.kind, &difference.key.name);
        match (item.acceptance.is_some(), difference.origin) {
            (true, _) => settled.push(item),
            (false, Origin::ByHand) => drifted.push(item),
            (false, Origin::Pending) => pending.push(item),
        }
    }
    let diff = short_document(found.open().map(|difference| (difference.action, &difference.key)));
    Ok(DriftReport {
        drift: !drifted.is_empty(),
        repository_id: repository.id.clone(),
        commit_sha: repository.good_commit.clone(),
        compared_with: repository.good_at.map(|at| at.to_string()),
        drifted,
        pending,
        accepted: settled,
        diff,
    })
}

fn acceptance_info(acceptance: &Acceptance) -> AcceptanceInfo {
    AcceptanceInfo {
        by: acceptance.by.clone(),
        reason: acceptance.reason.clone(),
        until: acceptance.until.map(|until| until.to_string()),
    }
}

/// Everything about a difference but the proposal about it.
pub(crate) async fn load_item(
    reading: &mut Reading,
    who: &Identity,
    repository: &Repository,
    found: &Found,
    difference: &Difference,
) -> Result<DriftItem, Refusal> {
    let fields = fields_of(reading, &who.account_id, &repository.id, difference).await?;
    let changed = match difference.origin {
        Origin::ByHand => last_change(reading, &who.account_id, &difference.key).await?,
        Origin::Pending => None,
    };
    let (changed_by, changed_at) = changed.unzip();
    Ok(DriftItem {
        kind: difference.key.kind.slug().to_owned(),
        name: difference.key.name.clone(),
        change: difference.action.to_string(),
        fields: fields.into_iter().map(Into::into).collect(),
        changed_by,
        changed_at: changed_at.map(|at| at.to_string()),
        proposal_id: None,
        acceptance: found.acceptance(difference).map(acceptance_info),
    })
}

fn read_key(kind: &str, name: &str) -> Result<ResourceKey, Refusal> {
    let kind = Kind::from_word(kind).ok_or_else(|| {
        Refusal::unprocessable("bad-value", "that is not a kind of resource", "for example node")
    })?;
    Ok(ResourceKey::new(kind, name))
}

/// The difference of a resource, if it has one.
fn pick<'f>(found: &'f Found, key: &ResourceKey) -> Result<&'f Difference, Refusal> {
    let difference = found.differences.iter().find(|difference| difference.key == *key);
    difference.ok_or_else(|| {
        Refusal::conflict("no-difference", format!("{key} is in sync"), "look at the drift report")
    })
}

pub(super) async fn revert(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<DriftTarget>,
) -> Answer {
    json_accepted(&revert_one(&server, &who, &id, &body).await?)
}

/// Proposes to make a resource what git says.
pub(crate) async fn revert_one(
    server: &Control,
    who: &Identity,
    id: &str,
    body: &DriftTarget,
) -> Result<Reverted, Refusal> {
    let now = now();
    let key = read_key(&body.kind, &body.name)?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id).await?;
    let found = differences_of(&mut writing, &who.account_id, &repository.id).await?;
    let difference = pick(&found, &key)?;
    // Whoever may approve said that the difference is meant; taking that back is up to them.
    if found.acceptance(difference).is_some() && !may_approve(who) {
        let message =
            format!("{key} was accepted as it is: this needs the permission {}", Permission::GitopsApprove);
        return Err(Refusal::forbidden(message, "ask someone who may approve to revert it"));
    }
    writing.acceptance_remove(&repository.id, &key).await?;
    let request = SyncRequest::new(Trigger::Revert, Some(&who.email));
    let run_id = queue_run(&mut writing, &repository, &request, now).await?;
    let detail = json!({"repository": repository.name, "sync_run_id": run_id});
    writing.audit(tell::entry(&who.actor(), "drift.revert", ("drift", &key.to_string()), detail, now));
    server.commit(writing).await?;
    server.nudges().sync.notify_one();
    let message = format!("a proposal makes {key} what git says again; approve it to apply it");
    Ok(Reverted { sync_run_id: run_id, message })
}

pub(super) async fn accept(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<AcceptBody>,
) -> Answer {
    ok(&accept_one(&server, &who, &id, &body).await?)
}

/// Says that a difference is meant.
pub(crate) async fn accept_one(
    server: &Control,
    who: &Identity,
    id: &str,
    body: &AcceptBody,
) -> Result<DriftReport, Refusal> {
    let now = now();
    let key = read_key(&body.kind, &body.name)?;
    let reason: String = body.reason.trim().chars().take(500).collect();
    if reason.is_empty() {
        return Err(Refusal::unprocessable(
            "missing-key",
            "say why the difference is meant",
            "give a reason",
        ));
    }
    let until = read_until(body.until.as_deref(), now)?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id).await?;
    let found = differences_of(&mut writing, &who.account_id, &repository.id).await?;
    let difference = pick(&found, &key)?;
    let acceptance = Acceptance {
        key: key.clone(),
        desired: difference.desired,
        accepted: difference.accepted,
        until,
        reason: reason.clone(),
        by: who.email.clone(),
        at: now,
    };
    writing.acceptance_put(&repository.id, &acceptance).await?;
    let detail = json!({"repository": repository.name, "reason": reason, "until": until});
    writing.audit(tell::entry(
        &who.actor(),
        "drift.accept",
        ("drift", &key.to_string()),
        detail.clone(),
        now,
    ));
    let message = format!("{} says that {key} is meant to differ: {reason}", who.email);
    let kind = "gitops.drift_accepted";
    writing.event(tell::repository_event(
        kind,
        Severity::Medium,
        &repository,
        &who.email,
        message,
        detail,
        now,
    ));
    let report = report_of(&mut writing, who, &repository).await?;
    server.commit(writing).await?;
    server.nudges().drift.notify_one();
    server.nudges().sync.notify_one();
    Ok(report)
}

fn read_until(text: Option<&str>, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = text else { return Ok(None) };
    let until = Timestamp::parse(text).filter(|until| *until > now);
    until.map(Some).ok_or_else(|| {
        Refusal::unprocessable(
            "bad-value",
            "until is a time in the future",
            "write it as 2027-01-31T18:00:00Z",
        )
    })
}

pub(super) async fn unaccept(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<DriftTarget>,
) -> Answer {
    ok(&unaccept_one(&server, &who, &id, &body).await?)
}

/// Takes that back.
pub(crate) async fn unaccept_one(
    server: &Control,
    who: &Identity,
    id: &str,
    body: &DriftTarget,
) -> Result<DriftReport, Refusal> {
    let now = now();
    let key = read_key(&body.kind, &body.name)?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id).await?;
    if !writing.acceptance_remove(&repository.id, &key).await? {
        return Err(Refusal::not_found());
    }
    let detail = json!({"repository": repository.name});
    writing.audit(tell::entry(&who.actor(), "drift.unaccept", ("drift", &key.to_string()), detail, now));
    let report = report_of(&mut writing, who, &repository).await?;
    server.commit(writing).await?;
    server.nudges().drift.notify_one();
    Ok(report)
}

pub(super) async fn adopt(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<AdoptBody>,
) -> Answer {
    ok(&adopt_some(&server, &who, &id, &body).await?)
}

/// Makes the change that writes the accepted state into git, and pushes it if a branch is named.
pub(crate) async fn adopt_some(
    server: &Control,
    who: &Identity,
    id: &str,
    body: &AdoptBody,
) -> Result<Adopted, Refusal> {
    let branch = body.branch.as_deref().map(Branch::parse).transpose();
    let branch =
        branch.map_err(|error| Refusal::unprocessable("bad-value", error.to_string(), error.help()))?;
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, who, id).await?;
    let wanted = wanted_of(&mut reading, who, &repository, body).await?;
    let account = reading.account(&who.account_id).await?.ok_or_else(Refusal::not_found)?;
    let context = world::reading_context(&mut reading, &account).await?;
    drop(reading);
    let Some(commit) = repository.good_commit.as_deref().and_then(CommitId::parse) else {
        return Err(Refusal::conflict("never-synced", "this repository was never read", "sync it first"));
    };
    let plan = FetchPlan::of(&repository, &account.name, server).await?;
    let job = Job { commit, plan, wanted, context, branch: branch.clone(), author: who.email.clone() };
    let turn = server.remote_turns().take(&who.account_id).await?;
    let (edited, pushed) = to_the_end(turn, adopt_on_thread(server.clone(), repository.clone(), job)).await?;
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let detail = json!({"branch": branch.as_ref().map(Branch::as_str), "commit_sha": pushed,
        "files": edited.iter().map(|file| file.path.clone()).collect::<Vec<_>>()});
    writing.audit(tell::entry(&who.actor(), "drift.adopt", ("repository", &repository.name), detail, now));
    server.commit(writing).await?;
    let branch = pushed.as_ref().and(body.branch.clone());
    Ok(Adopted { patch: patch(&edited), branch, commit_sha: pushed })
}

/// Reads the fleet, changes it and pushes it, on a thread that may block.
async fn adopt_on_thread(
    server: Control,
    repository: Repository,
    job: Job,
) -> Result<(Vec<Edited>, Option<String>), Refusal> {
    let directory = server.mirror_directory(&repository.id);
    let work = |leave: Leave| {
        let server = server.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _leave = leave;
            job.work(&server, &directory)
        });
        async move { task.await.map_err(|panic| internal(&panic))? }
    };
    let end_of = |done: &Result<_, Refusal>| match done {
        Ok(_) => WorkEnd::ReadThrough,
        Err(_) => WorkEnd::Failed,
    };
    requested(&server, &Requested::Of(repository), work, end_of).await
}

/// What shall be adopted: key and the accepted state of it.
type Wanted = Vec<(ResourceKey, Option<Arc<Spec>>)>;

async fn wanted_of(
    reading: &mut Reading,
    who: &Identity,
    repository: &Repository,
    body: &AdoptBody,
) -> Result<Wanted, Refusal> {
    let found = differences_of(reading, &who.account_id, &repository.id).await?;
    let keys: Vec<ResourceKey> = match body.resources.is_empty() {
        true => found.drifted().map(|difference| difference.key.clone()).collect(),
        false => {
            let named: Result<Vec<_>, _> =
                body.resources.iter().map(|target| read_key(&target.kind, &target.name)).collect();
            named?
        }
    };
    if keys.is_empty() {
        return Err(Refusal::conflict("no-difference", "nothing has drifted", "look at the drift report"));
    }
    let mut wanted = Vec::with_capacity(keys.len());
    for key in keys {
        pick(&found, &key)?;
        let accepted = reading.resource(&who.account_id, &key).await?.map(|accepted| accepted.spec);
        wanted.push((key, accepted));
    }
    Ok(wanted)
}

/// Everything that is needed on the thread that may block.
struct Job {
    commit: CommitId,
    plan: FetchPlan,
    wanted: Wanted,
    context: Context,
    branch: Option<Branch>,
    author: String,
}

impl Job {
    fn work(
        &self,
        server: &Control,
        directory: &std::path::Path,
    ) -> Result<(Vec<Edited>, Option<String>), Refusal> {
        let local = |error: &dyn std::error::Error| {
            Refusal::conflict("local", told(error), "sync the repository once more, then try again")
        };
        let mirror = Mirror::open_or_create(directory).map_err(|error| local(&error))?;
        let tree = mirror.tree(&self.commit, &self.plan.prefix).map_err(|error| local(&error))?;
        let fleet = read_fleet_at(&tree, &self.context).fleet;
        let edited = adopt_accepted(&fleet, &self.wanted, &self.context).map_err(adopt_error)?;
        let edited = in_repository(edited, self.plan.prefix.as_str());
        let Some(branch) = &self.branch else { return Ok((edited, None)) };
        let files: Vec<NewFile> = edited
            .iter()
            .map(|file| NewFile { path: file.path.clone(), content: file.after.clone().into_bytes() })
            .collect();
        let author = Author { name: self.author.clone(), email: self.author.clone(), at: now() };
        let names: Vec<String> = self.wanted.iter().map(|(key, _)| key.to_string()).collect();
        let message = format!("Adopt the accepted state\n\n{}\n", names.join("\n"));
        let push = Push { base: &self.commit, branch, files: &files, message: &message, author: &author };
        let pushed = mirror.push_branch(&self.plan.options(server), &push).map_err(|error| {
            let help =
                "the credential may not be allowed to write, or the branch exists; use the patch instead";
            Refusal::conflict("push", told(&error), help)
        })?;
        Ok((edited, Some(pushed.as_str().to_owned())))
    }
}

/// The same files named from the repository's root.
fn in_repository(edited: Vec<Edited>, prefix: &str) -> Vec<Edited> {
    let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
    edited.into_iter().map(|file| Edited { path: format!("{prefix}{}", file.path), ..file }).collect()
}

fn adopt_error(error: AdoptError) -> Refusal {
    let help = match &error {
        AdoptError::Secret { .. } => {
            let help =
                "keep it in Vault and write a reference such as `vault:path#field`, or revert the change";
            return Refusal::unprocessable("secret-inline", error.to_string(), help);
        }
        AdoptError::NeedsHand { suggestion, .. } => format!("edit it by hand:\n{suggestion}"),
        _ => "look at the repository's last run".to_owned(),
    };
    Refusal::conflict("adopt", error.to_string(), help)
}
