//! What those who may approve say yes to: one proposal, or a set of a plan.

use std::collections::BTreeSet;

use serde_json::json;
use windlass_core::plan::{ChangeSet, StoredStep, members_of};
use windlass_core::proposal::Proposal;
use windlass_core::run::Run;
use windlass_store::{PlanRecord, Reading};

use crate::gate_machine::oracle::{ObservedResource, Yes};
use crate::gate_machine::sequence::Sequence;

impl Sequence<'_> {
    /// One of those who may approves a proposal.
    pub(super) async fn approve(&mut self) {
        let pending = self.pending().await;
        let Some(proposal) = self.chance.pick(&pending).cloned() else { return };
        let by = self.callers[self.chance.below(2)].clone();
        let path = format!("/api/v1/system/proposals/{}/approve", proposal.id);
        let body = json!({"digest": proposal.content_digest()});
        if self.ask(&by, &("POST", path, body)).await.0 == 200 {
            let yes = self.yes_of(&by.email, &proposal);
            self.oracle.yes.push(yes);
        }
    }

    pub(super) fn yes_of(&self, approver: &str, proposal: &Proposal) -> Yes {
        let mut hands = self.editors.get(&proposal.id).cloned().unwrap_or_default();
        if proposal.is_direct() {
            hands.extend(proposal.author.clone());
        }
        hands.extend(self.author_of(&proposal.commit_sha));
        let change = ObservedResource {
            key: proposal.change.key.clone(),
            before: proposal.change.base,
            after: proposal.effective_digest(),
        };
        let declared = proposal.edit.as_ref().and(proposal.change.desired);
        let repository = proposal.governing_repository().cloned();
        Yes { approver: approver.to_owned(), change, declared, repository, hands }
    }

    /// Whoever wrote a commit.
    fn author_of(&self, commit: &str) -> Option<String> {
        self.authors.get(commit).map(|author| (*author).to_owned())
    }

    /// The sets of the plans of these runs, with their plans.
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

    /// One of those who may approves a set of a plan, whatever of it is open: that is a yes to each of its changes.
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
        if self.ask(&by, &("POST", path, body)).await.0 != 200 {
            return;
        }
        self.tally.sets += 1;
        let members = members_of(set.scope, &steps, &plan.sets);
        for step in steps.iter().filter(|step| members.contains(&step.binding())) {
            let yes = self.yes_in_set(&by.email, &run, step);
            self.oracle.yes.push(yes);
        }
    }

    fn yes_in_set(&self, approver: &str, run: &Run, step: &StoredStep) -> Yes {
        let hands: BTreeSet<String> =
            run.commit_sha.as_deref().and_then(|commit| self.author_of(commit)).into_iter().collect();
        Yes {
            approver: approver.to_owned(),
            change: ObservedResource { key: step.key(), before: step.base, after: step.desired },
            declared: None,
            repository: Some(run.repository_id.clone()),
            hands,
        }
    }
}
