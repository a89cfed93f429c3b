//! Approvals by people with the permission: of one proposal, or of a plan set.

use std::collections::BTreeSet;

use serde_json::json;
use windlass_core::plan::{ChangeSet, StoredStep, members_of};
use windlass_core::proposal::Proposal;
use windlass_core::run::Run;
use windlass_store::{PlanRecord, Reading};

use crate::gate_machine::oracle::{AcceptedChange, GivenApproval};
use crate::gate_machine::sequence::Sequence;

impl Sequence<'_> {
    /// A person with the permission approves a proposal.
    pub(super) async fn approve(&mut self) {
        let pending = self.pending_proposals().await;
        let Some(proposal) = self.chance.pick(&pending).cloned() else { return };
        let by = self.callers[self.chance.below(2)].clone();
        let path = format!("/api/v1/system/proposals/{}/approve", proposal.id);
        let body = json!({"digest": proposal.content_digest()});
        if self.send_request(&by, &("POST", path, body)).await.0 == 200 {
            let approval = self.approval_of(&by.email, &proposal);
            self.oracle.approvals.push(approval);
        }
    }

    pub(super) fn approval_of(&self, approver: &str, proposal: &Proposal) -> GivenApproval {
        let mut contributors = self.editors.get(&proposal.id).cloned().unwrap_or_default();
        if proposal.is_direct() {
            contributors.extend(proposal.author.clone());
        }
        contributors.extend(self.author_of(&proposal.commit_sha));
        let change = AcceptedChange {
            key: proposal.change.key.clone(),
            before: proposal.change.base,
            after: proposal.effective_digest(),
        };
        let declared = proposal.edit.as_ref().and(proposal.change.desired);
        let repository = proposal.governing_repository().cloned();
        GivenApproval { approver: approver.to_owned(), change, declared, repository, contributors }
    }

    /// The author of a commit.
    fn author_of(&self, commit: &str) -> Option<String> {
        self.authors.get(commit).map(|author| (*author).to_owned())
    }

    /// The plan sets of these runs, with their plans.
    pub(super) async fn sets(
        &self,
        reading: &mut Reading,
        runs: &[Run],
    ) -> Vec<(Run, PlanRecord, ChangeSet)> {
        let mut sets = Vec::new();
        for run in runs {
            let plan = reading.plan_of_run(&self.account, &run.id).await.expect("a plan");
            let Some(plan) = plan else { continue };
            sets.extend(plan.sets.iter().map(|set| (run.clone(), plan.clone(), set.clone())));
        }
        sets
    }

    /// A person with the permission approves a plan set, whatever proposals of it are open: that approves each of its changes.
    pub(super) async fn approve_set(&mut self) {
        let mut reading = self.installation.server.store().read().await.expect("a database");
        let runs = reading.runs(&self.account, None, None, 5).await.expect("runs");
        let sets = self.sets(&mut reading, &runs).await;
        let Some((run, plan, set)) = self.chance.pick(&sets).cloned() else { return };
        let steps = reading.plan_steps(&plan.id).await.expect("steps");
        drop(reading);
        let by = self.callers[self.chance.below(2)].clone();
        let path = format!("/api/v1/system/gitops_sync_runs/{}/approve", run.id);
        let body = json!({"digest": set.digest, "include_destroys": self.chance.percent(70)});
        if self.send_request(&by, &("POST", path, body)).await.0 != 200 {
            return;
        }
        self.tally.sets += 1;
        let members = members_of(set.scope, &steps, &plan.sets);
        for step in steps.iter().filter(|step| members.contains(&step.binding())) {
            let approval = self.approval_in_set(&by.email, &run, step);
            self.oracle.approvals.push(approval);
        }
    }

    fn approval_in_set(&self, approver: &str, run: &Run, step: &StoredStep) -> GivenApproval {
        let contributors: BTreeSet<String> =
            run.commit_sha.as_deref().and_then(|commit| self.author_of(commit)).into_iter().collect();
        GivenApproval {
            approver: approver.to_owned(),
            change: AcceptedChange { key: step.key(), before: step.base, after: step.desired },
            declared: None,
            repository: Some(run.repository_id.clone()),
            contributors,
        }
    }
}
