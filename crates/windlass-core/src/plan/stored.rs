//! A plan as it is stored with its run: each change by its digests, without specs, and the sets that can be approved as
//! one.
//!
//! Later proposals are opened from it, so that nothing has to be compared again; the caller checks that accepted and
//! desired state are still those that the plan was made from.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::set::{ChangeSet, NAMES_KEPT, SetScope};
use super::{Plan, PlanStep, StepGroup, groups};
use crate::diff::{Action, Cause};
use crate::digest::Digest;
use crate::gate::approval_digest;
use crate::resource::{Kind, ResourceKey};

/// The most groups that can be approved as one; the largest are kept. Nobody reviews more, and every read of a run
/// loads the list.
const MAX_GROUPS: usize = 200;

/// One change of a stored plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredStep {
    /// The kind of resource.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Why it changes.
    pub cause: Cause,
    /// The accepted state that it was planned against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Digest>,
    /// The desired state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<Digest>,
    /// The index of its group's set; `None` for a change without identical ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<usize>,
    /// Changes of the same plan that must be applied first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
}

impl StoredStep {
    fn of(step: &PlanStep, group: Option<usize>) -> StoredStep {
        let change = &step.change;
        StoredStep {
            kind: change.key.kind,
            name: change.key.name.clone(),
            cause: change.cause,
            base: change.base,
            desired: change.desired,
            group,
            waits_for: step.waits_for.iter().map(ToString::to_string).collect(),
        }
    }

    /// The resource.
    pub fn key(&self) -> ResourceKey {
        ResourceKey::new(self.kind, self.name.as_str())
    }

    /// The digest that an approval of the change is bound to.
    pub fn binding(&self) -> Digest {
        approval_digest(&self.key(), self.base, self.desired)
    }

    /// The action.
    pub const fn action(&self) -> Action {
        self.cause.action()
    }
}

/// A plan as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPlan {
    /// Its changes, in order.
    pub steps: Vec<StoredStep>,
    /// The whole plan first, then the groups; a step's group is an index into this list.
    pub sets: Vec<ChangeSet>,
}

impl StoredPlan {
    /// The plan as it is stored.
    pub fn of(plan: &Plan) -> StoredPlan {
        let mut chosen: Vec<StepGroup<'_>> =
            groups(plan).into_iter().filter(|group| group.steps.len() > 1).collect();
        if chosen.len() > MAX_GROUPS {
            chosen.sort_by_key(|group| std::cmp::Reverse(group.steps.len()));
            chosen.truncate(MAX_GROUPS);
            chosen.sort_by_key(|group| group.steps[0].0);
        }
        let mut numbers: Vec<Option<usize>> = vec![None; plan.steps.len()];
        for (index, group) in chosen.iter().enumerate() {
            for (position, _) in &group.steps {
                numbers[position - 1] = Some(index + 1);
            }
        }
        let steps: Vec<StoredStep> =
            plan.steps.iter().zip(&numbers).map(|(step, group)| StoredStep::of(step, *group)).collect();
        let bindings: Vec<Digest> = steps.iter().map(StoredStep::binding).collect();
        let mut sets = vec![whole(&steps, &bindings)];
        sets.extend(chosen.iter().map(|group| set_of(group, &bindings)));
        StoredPlan { steps, sets }
    }
}

fn whole(steps: &[StoredStep], bindings: &[Digest]) -> ChangeSet {
    ChangeSet {
        scope: SetScope::Plan,
        digest: SetScope::Plan.digest(bindings.iter().copied()),
        kind: None,
        cause: None,
        count: steps.len(),
        destroys: steps.iter().filter(|step| step.action() == Action::Destroy).count(),
        names: steps.iter().take(NAMES_KEPT).map(|step| step.name.clone()).collect(),
    }
}

fn set_of(group: &StepGroup<'_>, bindings: &[Digest]) -> ChangeSet {
    let members = group.steps.iter().map(|(position, _)| bindings[position - 1]);
    let scope = SetScope::Group(group.signature);
    let count = group.steps.len();
    ChangeSet {
        scope,
        digest: scope.digest(members),
        kind: Some(group.kind),
        cause: Some(group.cause),
        count,
        destroys: if group.cause.action() == Action::Destroy { count } else { 0 },
        names: group.steps.iter().take(NAMES_KEPT).map(|(_, step)| step.name().to_owned()).collect(),
    }
}

/// The digests that approvals of a set's members are bound to.
pub fn members_of(scope: SetScope, steps: &[StoredStep], sets: &[ChangeSet]) -> BTreeSet<Digest> {
    let signature = |step: &StoredStep| match sets.get(step.group?)?.scope {
        SetScope::Group(signature) => Some(signature),
        SetScope::Plan => None,
    };
    steps.iter().filter(|step| scope.includes(signature(step))).map(StoredStep::binding).collect()
}
