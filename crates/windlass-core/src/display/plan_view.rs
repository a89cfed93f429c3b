//! The view of a plan, whether it was made locally or read from a document.

use serde_json::json;

use crate::content::{ContentChange, ContentDifference};
use crate::diagnostic::{self, Diagnostic};
use crate::digest::Digest;
use crate::plan::{ParsedPlan, Plan, PlanDocument, PlanSummary, StepGroup, StepView, groups};

/// A plan with everything to show about it.
#[derive(Clone, Debug)]
pub struct PlanView<'p> {
    /// The account it is for.
    pub account: &'p str,
    /// The plan's digest.
    pub digest: Digest,
    /// The number of changes by action.
    pub summary: PlanSummary,
    /// Its steps, identical ones grouped.
    pub groups: Vec<StepGroup<'p>>,
    /// The number of steps that the document left out because of its limit.
    pub omitted: usize,
    /// Changes that were refused: resource and reason.
    pub refusals: Vec<(String, &'p str)>,
    /// Every problem.
    pub problems: &'p [Diagnostic],
    /// What the plan was compared with.
    pub from: &'p str,
    /// The differences in the files that resources name.
    pub content: &'p [ContentDifference],
    /// The names of provider configurations, which are shown and never applied.
    pub provider_configs: Vec<&'p str>,
    /// Notes for the reader.
    pub notes: &'p [String],
    /// How many proposals may be open at a time.
    pub cap: usize,
    /// How many changes are left for later runs.
    pub remaining: usize,
}

impl<'p> PlanView<'p> {
    /// The view of a local plan, without notes.
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

    /// The view of a plan that was read from a document.
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

    /// The document of this plan with its notes: the output of `plan --format json`, the server's response, and the
    /// input of [`ParsedPlan`].
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

    /// The differences in the files that a step's resource names, as far as they are known.
    pub fn content_of(&self, step: StepView<'_>) -> Vec<&'p ContentDifference> {
        let found = |change: &ContentChange| self.content.iter().find(|difference| difference.is_of(change));
        step.content_changes().iter().filter_map(found).collect()
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.changes() == 0
    }

    /// The number of changes.
    pub fn changes(&self) -> usize {
        self.summary.create + self.summary.update + self.summary.destroy
    }

    /// Whether a problem prevents the plan.
    pub fn has_errors(&self) -> bool {
        diagnostic::has_errors(self.problems)
    }
}
