//! Turns changes into a plan: ordered, guarded, capped and explained.
//!
//! A [`Plan`] is an immutable document with a digest. Applying follows it step by step and makes no new decisions.
//! `order.rs` is the only place that decides the order of changes; other code keeps that order, or sorts what it
//! displays.

mod cap;
mod document;
mod explain;
mod forecast;
mod group;
mod guard;
mod order;
mod read;
mod set;
mod step;
mod stored;

use serde::{Deserialize, Serialize};

pub use cap::{DEFAULT_CAP, ProposalBatch, ProposalHistory, next_batch};
pub use document::PlanDocument;
pub use forecast::{PolicyOutlook, StepForecast};
pub use group::{StepGroup, StepView, groups, signature_of};
pub use guard::{MassDestroy, MassDestroyConfirmation, RefusedChange};
pub use read::{Informational, ParsedPlan, ParsedRefusal, ParsedStep};
pub use set::{ChangeSet, SetKind, SetScope, why_set_approval_lapses};
pub use step::PlanStep;
pub use stored::{StoredPlan, StoredStep, members_of};

use crate::desired::Desired;
use crate::diff::{Action, Comparison};
use crate::resource_finding::ResourceFinding;

/// The changes to make, in order, with reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The account it is for.
    pub account: String,
    /// The changes, in the order in which they are applied.
    pub steps: Vec<PlanStep>,
    /// Changes that the files ask for and that are refused, with reasons.
    pub refusals: Vec<RefusedChange>,
    /// Why the whole plan needs a confirmation.
    pub stopped: Option<MassDestroy>,
    /// The number of declared resources without a change.
    pub unchanged: usize,
    /// Problems that only the comparison with the accepted state revealed.
    pub problems: Vec<ResourceFinding>,
}

/// The number of changes by action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSummary {
    /// Resources to create.
    pub create: usize,
    /// Resources to update, including adopted ones.
    pub update: usize,
    /// Resources to destroy.
    pub destroy: usize,
    /// Refused changes.
    pub refused: usize,
    /// Resources without a change.
    pub unchanged: usize,
}

/// Builds a plan from a comparison.
pub fn build(desired: &Desired, comparison: Comparison, confirmation: MassDestroyConfirmation) -> Plan {
    let Comparison { changes, mut problems, owned, unchanged } = comparison;
    let (changes, refusals) = guard::refuse_protected(changes);
    problems.extend(guard::find_dangling(desired, &changes));
    problems.extend(guard::find_reused_versions(&changes));
    let stopped = guard::mass_destroy(&changes, owned, &confirmation);
    let steps = match order::order(changes) {
        Ok(steps) => steps,
        Err(circles) => {
            problems.extend(circles);
            Vec::new()
        }
    };
    Plan { account: desired.account.clone(), steps, refusals, stopped, unchanged, problems }
}

impl Plan {
    /// An empty plan, for a fleet with errors.
    pub fn nothing(account: &str) -> Plan {
        Plan {
            account: account.to_owned(),
            steps: Vec::new(),
            refusals: Vec::new(),
            stopped: None,
            unchanged: 0,
            problems: Vec::new(),
        }
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The number of changes by action.
    pub fn summary(&self) -> PlanSummary {
        let count = |action| self.steps.iter().filter(|step| step.change.action() == action).count();
        PlanSummary {
            create: count(Action::Create),
            update: count(Action::Update),
            destroy: count(Action::Destroy),
            refused: self.refusals.len(),
            unchanged: self.unchanged,
        }
    }
}
