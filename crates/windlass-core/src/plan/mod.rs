//! Changes → plan: ordered, guarded, capped and explained.
//!
//! A [`Plan`] is an immutable document with a digest. Apply follows it step by step and decides nothing again.
//! `order.rs` is the only place that decides in which order changes are applied; others keep it, or sort what they show.

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

/// What shall be done, in order, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The account it is for.
    pub account: String,
    /// What is done, in the order in which it is done.
    pub steps: Vec<PlanStep>,
    /// What is not done although the files ask for it, and why.
    pub refusals: Vec<RefusedChange>,
    /// Why nothing of it may be done until someone confirms.
    pub stopped: Option<MassDestroy>,
    /// How many declared resources are as they should be.
    pub unchanged: usize,
    /// Problems that only the comparison with the accepted state showed.
    pub problems: Vec<ResourceFinding>,
}

/// How many of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSummary {
    /// To be created.
    pub create: usize,
    /// To be updated, adopted ones included.
    pub update: usize,
    /// To be destroyed.
    pub destroy: usize,
    /// Asked for but refused.
    pub refused: usize,
    /// As they should be.
    pub unchanged: usize,
}

/// Makes a plan of a comparison.
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
    /// A plan that does nothing, for a fleet that cannot be planned.
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

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many of each.
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
