//! Approving sets of a run's plan, and letting proposals go on after a failed run.

use axum::extract::{Path, State};
use windlass_api::types::{
    ApproveSetBody, ApprovedSet, ChangeSetInfo, ConfirmFailureBody, RunEnvelope, RunInfo,
};
use windlass_core::plan::ChangeSet;
use windlass_store::{ApprovalSet, Reading, Run, StoreError};

use super::request::{Answer, Body, ok};
use super::runs;
use crate::auth::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::decide::{self, Destroys, SetReview, scope_word};
use crate::gatekeeper::{Gatekeeper, failed_sync};
use crate::refusal::Refusal;
use crate::server::Server;

pub(super) async fn approve(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<ApproveSetBody>,
) -> Answer {
    ok(&approve_set(&server, &who, &id, &body).await?)
}

/// Approves a set of a run's plan.
pub(crate) async fn approve_set(
    server: &Control,
    who: &Identity,
    run_id: &str,
    body: &ApproveSetBody,
) -> Result<ApprovedSet, Refusal> {
    let destroys = if body.include_destroys { Destroys::Meant } else { Destroys::NotMentioned };
    let review = SetReview { digest: &body.digest, destroys, reason: body.reason.as_deref() };
    Ok(decide::approve_set(server, who, run_id, review).await?)
}

pub(super) async fn confirm_failure(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<ConfirmFailureBody>,
) -> Answer {
    decide::confirm_failure(&server, &who, &id, body.reason.as_deref()).await?;
    ok(&RunEnvelope { sync_run: runs::load(&server, &who, &id, 0).await? })
}

/// What there is to say about the plan of a run.
#[derive(Default)]
pub(super) struct PlanFacts {
    digest: Option<String>,
    sets: Vec<ChangeSetInfo>,
    holds_proposals: bool,
}

impl PlanFacts {
    pub(super) async fn load(reading: &mut Reading, run: &Run) -> Result<PlanFacts, StoreError> {
        let repository = reading.repository(&run.account_id, &run.repository_id).await?;
        let is_last = |id: &Option<String>| id.as_ref() == Some(&run.id);
        let holds_proposals = repository
            .as_ref()
            .is_some_and(|found| is_last(&found.last_run_id) && failed_sync(found).is_some());
        let Some(plan) = reading.plan_of_run(&run.account_id, &run.id).await? else {
            return Ok(PlanFacts { holds_proposals, ..PlanFacts::default() });
        };
        let digest = Some(plan.digest.to_string());
        let current = repository.filter(|repository| repository.good_commit.is_some());
        let newest = match current.and_then(|repository| repository.good_run_id) {
            Some(good) if good == run.id => Some(plan.id.clone()),
            Some(good) => reading.plan_of_run(&run.account_id, &good).await?.map(|newest| newest.id),
            None => None,
        };
        if newest.as_ref() != Some(&plan.id) {
            return Ok(PlanFacts { digest, holds_proposals, ..PlanFacts::default() });
        }
        let mut approvals = reading.approval_sets_of(&plan.id).await?;
        if let Some(account) = reading.account(&run.account_id).await?.filter(|_| !approvals.is_empty()) {
            let gatekeeper = Gatekeeper::load(reading, &account, [], now()).await?;
            approvals.retain(|approval| gatekeeper.is_approver(&approval.approver));
        }
        let sets = plan.sets.iter().map(|set| set_info(set, &approvals)).collect();
        Ok(PlanFacts { digest, sets, holds_proposals })
    }

    pub(super) fn tell(self, info: RunInfo) -> RunInfo {
        let PlanFacts { digest, sets, holds_proposals } = self;
        RunInfo { plan_digest: digest, sets, holds_proposals, ..info }
    }
}

fn set_info(set: &ChangeSet, approvals: &[ApprovalSet]) -> ChangeSetInfo {
    let counts = |approval: &&ApprovalSet| approval.scope == set.scope && approval.fallen.is_none();
    let mut approved_by: Vec<String> =
        approvals.iter().filter(counts).map(|approval| approval.approver.clone()).collect();
    approved_by.sort();
    approved_by.dedup();
    ChangeSetInfo {
        digest: set.digest.to_string(),
        scope: scope_word(set.scope).to_owned(),
        kind: set.kind.map(|kind| kind.slug().to_owned()),
        change: set.cause.map(|cause| cause.action().to_string()),
        count: set.count,
        destroys: set.destroys,
        names: set.names.clone(),
        approved_by,
    }
}
