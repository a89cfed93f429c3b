//! A plan as it is told, whether it was made here or read from a document.

use serde_json::json;

use crate::content::{ContentChange, ContentDifference};
use crate::diagnostic::{self, Diagnostic};
use crate::digest::Digest;
use crate::plan::{ParsedPlan, Plan, PlanDocument, PlanSummary, StepGroup, StepView, groups};

/// A plan with everything that is said about it.
#[derive(Clone, Debug)]
pub struct PlanView<'p> {
    /// The account it is for.
    pub account: &'p str,
    /// The plan's digest.
    pub digest: Digest,
    /// How many of each.
    pub summary: PlanSummary,
    /// Its steps, the same ones joined.
    pub groups: Vec<StepGroup<'p>>,
    /// Steps that the document left out because they were too many.
    pub omitted: usize,
    /// What is not done although the files ask for it: resource and reason.
    pub refusals: Vec<(String, &'p str)>,
    /// Every problem.
    pub problems: &'p [Diagnostic],
    /// What it was compared with.
    pub from: &'p str,
    /// What differs in the files that resources name.
    pub content: &'p [ContentDifference],
    /// Names of what is shown and never applied.
    pub provider_configs: Vec<&'p str>,
    /// What else whoever reads it should know.
    pub notes: &'p [String],
    /// How many changes are open at a time.
    pub cap: usize,
    /// How many are left for later runs.
    pub remaining: usize,
}

impl<'p> PlanView<'p> {
    /// A plan that was made here, without anything that was said about it.
    pub fn of(plan: &'p Plan) -> PlanView<'p> {
        PlanView {
            account: &plan.account,
            digest: plan.digest(),
            summary: plan.summary(),
            groups: groups(plan),
            omitted: 0,
            refusals: plan
                .refusals
                .iter()
                .map(|refusal| (refusal.resource.to_string(), refusal.reason.as_str()))
                .collect(),
            problems: &[],
            from: "",
            content: &[],
            provider_configs: Vec::new(),
            notes: &[],
            cap: plan.steps.len().max(1),
            remaining: 0,
        }
    }

    /// A plan that was read, with what its document says about it.
    pub fn read(plan: &'p ParsedPlan) -> PlanView<'p> {
        PlanView {
            account: &plan.account,
            digest: plan.digest,
            summary: plan.summary,
            groups: plan.groups(),
            omitted: plan.omitted,
            refusals: plan
                .refused
                .iter()
                .map(|refusal| (refusal.resource.clone(), refusal.reason.as_str()))
                .collect(),
            problems: &plan.problems,
            from: &plan.from,
            content: &plan.content,
            provider_configs: plan.informational.provider_configs.iter().map(String::as_str).collect(),
            notes: &plan.notes,
            cap: plan.max_proposals_per_tick.max(1),
            remaining: plan.remaining,
        }
    }

    /// The document of the plan this is about, with what is said about it: what `plan --format json` prints, servers
    /// answer, and [`ParsedPlan`] reads.
    pub fn document<'d>(&self, plan: &'d Plan) -> PlanDocument<'d> {
        let document = plan.document();
        let document = match self.content.is_empty() {
            true => document,
            false => document.with("content", json!(self.content)),
        };
        document
            .with("problems", json!(self.problems))
            .with("from", json!(self.from))
            .with("max_proposals_per_tick", json!(self.cap))
            .with("remaining", json!(self.remaining))
            .with("informational", json!({ "provider_configs": self.provider_configs }))
    }

    /// What differs in the files that a step's resource names, as far as that is known.
    pub fn content_of(&self, step: StepView<'_>) -> Vec<&'p ContentDifference> {
        let found = |change: &ContentChange| self.content.iter().find(|difference| difference.is_of(change));
        step.content_changes().iter().filter_map(found).collect()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes() == 0
    }

    /// How many changes there are.
    pub fn changes(&self) -> usize {
        self.summary.create + self.summary.update + self.summary.destroy
    }

    /// Whether a problem stops the plan.
    pub fn has_errors(&self) -> bool {
        diagnostic::has_errors(self.problems)
    }
}
