//! Making changes live: each resource with its event, its audit entry and its proposal's new state, or not at all.

use serde_json::json;
use windlass_core::diff::Action;
use windlass_core::gate::Consent;
use windlass_core::proposal::{Status, blockers};
use windlass_core::time::Timestamp;
use windlass_store::{Acceptance, Account, AccountWriting, Actor, Moved, Proposal, Repository, StoreError};

use super::choose::{destroys_of, effective_change, plain_move};
use super::settle;
use crate::clock::now;
use crate::crash::crash_point;
use crate::gatekeeper::Gatekeeper;
use crate::server::Server;
use crate::tell::{self, ResourceChange};
use crate::world::World;

/// What became of one proposal.
enum Made {
    /// It is live.
    Applied,
    /// Live is not what it was approved against.
    Moved(&'static str),
    /// Someone had made the very change by hand.
    ByHand,
    /// Something it needs is not there any more.
    Blocked(Vec<String>),
}

/// What changes are made in: what exists, and what the gate says by now.
struct Scene {
    world: World,
    gatekeeper: Gatekeeper,
    repositories: Vec<Repository>,
    now: Timestamp,
}

impl Scene {
    async fn load(
        writing: &mut AccountWriting,
        account: &Account,
        group: &[Proposal],
        now: Timestamp,
    ) -> Result<Scene, StoreError> {
        Ok(Scene {
            world: World::load(writing, &account.id, destroys_of(group)).await?,
            gatekeeper: Gatekeeper::of(account),
            repositories: writing.repositories(&account.id).await?,
            now,
        })
    }

    fn repository_of(&self, proposal: &Proposal) -> Option<&Repository> {
        self.repositories.iter().find(|repository| repository.id == proposal.repository_id)
    }
}

/// Applies a group in one commit.
pub(super) async fn make(server: &Server, account_id: &str, ids: &[String]) -> Result<(), StoreError> {
    let now = now();
    let mut writing = server.store().write_account(account_id).await?;
    let mut group = Vec::with_capacity(ids.len());
    for id in ids {
        group
            .extend(writing.proposal(account_id, id).await?.filter(|found| found.status == Status::Applying));
    }
    let Some(account) = writing.account(account_id).await? else { return Ok(()) };
    let mut scene = Scene::load(&mut writing, &account, &group, now).await?;
    for proposal in &group {
        let mark = writing.mark().await?;
        match make_one(&mut writing, &mut scene, proposal).await {
            Ok(()) => writing.keep(mark).await?,
            // These are not this resource's fault: nothing of the group is kept, and it is tried again.
            Err(error @ (StoreError::DiskFull(_) | StoreError::ReadOnly(_) | StoreError::Busy(_))) => {
                return Err(error);
            }
            Err(error) => {
                writing.undo(mark).await?;
                fail(&mut writing, proposal, &error, now).await?;
            }
        }
        crash_point("apply.one_written");
    }
    settle::settle_runs(&mut writing, ids, None, now).await?;
    crash_point("apply.before_commit");
    server.commit(writing).await?;
    crash_point("apply.committed");
    Ok(())
}

async fn make_one(
    writing: &mut AccountWriting,
    scene: &mut Scene,
    proposal: &Proposal,
) -> Result<(), StoreError> {
    let now = scene.now;
    match try_one(writing, scene, proposal).await? {
        Made::Applied => {
            end(writing, proposal, Status::Applied, None, now).await?;
            metrics::counter!("windlass_proposals_applied_total").increment(1);
            Ok(())
        }
        Made::ByHand => {
            end(writing, proposal, Status::AppliedManually, Some("someone made this change by hand"), now)
                .await
        }
        Made::Moved(reason) => end(writing, proposal, Status::Superseded, Some(reason), now).await,
        Made::Blocked(reasons) => {
            writing.proposal_move(&proposal.id, &plain_move(Status::Applying, Status::Approved, now)).await?;
            writing.proposal_block(&proposal.id, &reasons).await
        }
    }
}

/// Why a change that was chosen may not be made after all: a switch thrown or a policy replaced in between counts.
async fn held(
    writing: &mut AccountWriting,
    scene: &Scene,
    proposal: &Proposal,
) -> Result<Option<Made>, StoreError> {
    let Some(repository) = scene.repository_of(proposal) else {
        return Ok(Some(Made::Moved("its repository was removed")));
    };
    let approvals = writing.approvals(&proposal.id).await?;
    let judgement = scene.gatekeeper.judge(proposal, Some(repository), &approvals, scene.now);
    let reasons: Vec<String> = judgement.hold.iter().map(ToString::to_string).collect();
    let is_granted = matches!(judgement.consent, Consent::Granted { .. });
    Ok((!is_granted || !reasons.is_empty()).then_some(Made::Blocked(reasons)))
}

async fn try_one(
    writing: &mut AccountWriting,
    scene: &mut Scene,
    proposal: &Proposal,
) -> Result<Made, StoreError> {
    if let Some(held) = held(writing, scene, proposal).await? {
        return Ok(held);
    }
    let (now, world) = (scene.now, &mut scene.world);
    let change = effective_change(proposal);
    let standing = world.standing(&change.key);
    let live = standing.map(|standing| standing.digest);
    let owner = standing.and_then(|standing| standing.owner_id.as_deref());
    let is_ours = owner.is_none_or(|owner| owner == proposal.repository_id);
    if live != change.base || !is_ours {
        let is_done = live == change.desired && (live.is_none() || owner == Some(&proposal.repository_id));
        return Ok(if is_done {
            Made::ByHand
        } else {
            Made::Moved("the live state moved since this was approved")
        });
    }
    let reasons = blockers(&change, &*world);
    if !reasons.is_empty() {
        return Ok(Made::Blocked(reasons));
    }
    let by = format!("{} (proposal {})", proposal.decided_by.as_deref().unwrap_or("windlass"), proposal.id);
    let repository_id = Some(proposal.repository_id.clone());
    match &change.after {
        Some(spec) => {
            writing.resource_put(&change.key, spec, repository_id.as_deref(), &by, now).await?;
            world.put(&change.key, change.before.as_deref(), spec, repository_id.clone());
        }
        None => {
            writing.resource_remove(&change.key).await?;
            world.remove(&change.key, change.before.as_deref());
        }
    }
    writing.wanted_settle_one(&proposal.repository_id, &change.key, change.desired).await?;
    remember_edit(writing, proposal, now).await?;
    let actor = Actor { name: by, ..Actor::windlass() };
    let told = ResourceChange {
        key: &change.key,
        action: change.action(),
        before: change.base,
        after: change.desired,
        fields: json!(change.fields()),
        repository_id,
        run_id: Some(proposal.run_id.clone()),
        proposal_id: Some(proposal.id.clone()),
        actor: &actor,
        audit_action: "proposal.apply",
        now,
    };
    let (event, entry) = told.told();
    writing.event(event);
    writing.audit(entry);
    Ok(Made::Applied)
}

/// What was edited before approval is meant to differ from git, until either moves.
async fn remember_edit(
    writing: &mut AccountWriting,
    proposal: &Proposal,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(edit) = &proposal.edit else {
        writing.acceptance_remove(&proposal.repository_id, &proposal.change.key).await?;
        return Ok(());
    };
    if proposal.change.action() == Action::Destroy || Some(edit.digest) == proposal.change.desired {
        return Ok(());
    }
    let acceptance = Acceptance {
        key: proposal.change.key.clone(),
        desired: proposal.change.desired,
        live: Some(edit.digest),
        until: None,
        reason: format!("edited before approval (proposal {})", proposal.id),
        by: edit.by.clone(),
        at: now,
    };
    writing.acceptance_put(&proposal.repository_id, &acceptance).await
}

/// Ends a proposal and tells of it.
async fn end(
    writing: &mut AccountWriting,
    proposal: &Proposal,
    status: Status,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let moved = Moved { reason, ..plain_move(Status::Applying, status, now) };
    if writing.proposal_move(&proposal.id, &moved).await? {
        writing.event(tell::proposal_event(proposal, &proposal.run_id, status, "windlass", reason, now));
        if status != Status::Applied {
            let detail = json!({"reason": reason});
            let target = ("proposal", proposal.id.as_str());
            writing.audit(tell::entry(&Actor::windlass(), "proposal.close", target, detail, now));
        }
    }
    Ok(())
}

async fn fail(
    writing: &mut AccountWriting,
    proposal: &Proposal,
    error: &StoreError,
    now: Timestamp,
) -> Result<(), StoreError> {
    tracing::error!(proposal = proposal.id, %error, "a change could not be applied");
    let reason = error.to_string();
    end(writing, proposal, Status::Failed, Some(&reason), now).await
}
