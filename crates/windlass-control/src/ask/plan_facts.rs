//! What responses show about a run's plan: its digest, its sets with their approvals, and whether its failure holds proposals.

use windlass_api::types::{ChangeSetInfo, RunInfo};
use windlass_core::diff::Cause;
use windlass_core::id::RunId;
use windlass_core::plan::ChangeSet;
use windlass_core::run::Run;
use windlass_store::{ApprovalSet, Reading, StoreError};

use crate::clock::now;
use crate::flow::gate::gatekeeper::load_gatekeeper;

/// What responses show about the plan of a run.
#[derive(Default)]
pub(crate) struct PlanContext {
    digest: Option<String>,
    sets: Vec<ChangeSetInfo>,
    holds_proposals: bool,
}

impl PlanContext {
    pub(crate) async fn load(reading: &mut Reading, run: &Run) -> Result<PlanContext, StoreError> {
        let repository = reading.repository(&run.account_id, run.repository_id.as_str()).await?;
        let is_last = |id: &Option<RunId>| id.as_ref() == Some(&run.id);
        let holds_proposals = repository
            .as_ref()
            .is_some_and(|found| is_last(&found.last_run_id) && found.failed_sync().is_some());
        let Some(plan) = reading.plan_of_run(&run.account_id, &run.id).await? else {
            return Ok(PlanContext { holds_proposals, ..PlanContext::default() });
        };
        let digest = Some(plan.digest.to_string());
        let current = repository.filter(|repository| repository.good_commit.is_some());
        let newest = match current.and_then(|repository| repository.good_run_id) {
            Some(good) if good == run.id => Some(plan.id.clone()),
            Some(good) => reading.plan_of_run(&run.account_id, &good).await?.map(|newest| newest.id),
            None => None,
        };
        if newest.as_ref() != Some(&plan.id) {
            return Ok(PlanContext { digest, holds_proposals, ..PlanContext::default() });
        }
        let mut approvals = reading.approval_sets_of(&plan.id).await?;
        if let Some(account) =
            reading.account(run.account_id.as_str()).await?.filter(|_| !approvals.is_empty())
        {
            let gatekeeper = load_gatekeeper(reading, &account, [], now()).await?;
            approvals.retain(|approval| gatekeeper.is_approver(&approval.approver));
        }
        let sets = plan.sets.iter().map(|set| set_info(set, &approvals)).collect();
        Ok(PlanContext { digest, sets, holds_proposals })
    }

    pub(crate) fn add_to(self, info: RunInfo) -> RunInfo {
        let PlanContext { digest, sets, holds_proposals } = self;
        RunInfo { plan_digest: digest, sets, holds_proposals, ..info }
    }
}

fn set_info(set: &ChangeSet, approvals: &[ApprovalSet]) -> ChangeSetInfo {
    let counts = |approval: &&ApprovalSet| approval.scope == set.scope && approval.lapsed.is_none();
    let mut approved_by: Vec<String> =
        approvals.iter().filter(counts).map(|approval| approval.approver.clone()).collect();
    approved_by.sort();
    approved_by.dedup();
    ChangeSetInfo {
        digest: set.digest.to_string(),
        scope: set.scope.kind(),
        kind: set.kind.map(|kind| kind.slug().to_owned()),
        change: set.cause.map(Cause::action),
        count: set.count,
        destroys: set.destroys,
        names: set.names.clone(),
        approved_by,
    }
}
