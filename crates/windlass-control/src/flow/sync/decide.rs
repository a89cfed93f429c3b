//! Desired × accepted → what the run proposes. Values in, values out.

use serde_json::{Value, json};
use windlass_core::accepted::{Accepted, Owner};
use windlass_core::code::{Code, Severity};
use windlass_core::desired::Desired;
use windlass_core::diff::{Change, compare};
use windlass_core::drift::Acceptances;
use windlass_core::plan::{self, Confirmation, Plan};
use windlass_core::time::Timestamp;

use crate::failure;

/// A plan, and what of the differences is not in it because someone said it is meant.
pub(crate) struct Decided {
    pub(crate) plan: Plan,
    pub(crate) accepted_drift: Vec<(Change, String)>,
}

impl Decided {
    /// Nothing differs.
    pub(crate) fn nothing(account: &str) -> Decided {
        Decided { plan: Plan::nothing(account), accepted_drift: Vec::new() }
    }
}

pub(crate) fn decide(
    desired: &Desired,
    accepted: &Accepted,
    repository: &Owner,
    acceptances: &Acceptances,
    confirmation: Confirmation,
    now: Timestamp,
) -> Decided {
    let mut comparison = compare(desired, accepted, repository);
    let mut accepted_drift = Vec::new();
    comparison.changes.retain(|change| match acceptances.of(&change.key, change.desired, change.base, now) {
        Some(acceptance) => {
            let reason = format!("accepted by {}: {}", acceptance.by, acceptance.reason);
            accepted_drift.push((change.clone(), reason));
            false
        }
        None => true,
    });
    Decided { plan: plan::build(desired, comparison, confirmation), accepted_drift }
}

/// Differences that are not offered, as a run shows them.
pub(crate) fn skipped(decided: &Decided, held_back: &[usize]) -> Vec<Value> {
    let told = |action: String, kind: &str, name: &str, reason: &str| json!({"proposal_id": null, "action": action, "kind": kind, "name": name, "reason": reason, "at": null});
    let refused = decided.plan.refusals.iter().map(|refusal| {
        let key = &refusal.resource;
        told(format!("destroy_{}", key.kind), key.kind.slug(), &key.name, &refusal.reason)
    });
    let accepted_drift = decided.accepted_drift.iter().map(|(change, reason)| {
        told(
            format!("{}_{}", change.action(), change.key.kind),
            change.key.kind.slug(),
            &change.key.name,
            reason,
        )
    });
    let held = held_back.iter().map(|position| {
        let step = &decided.plan.steps[*position];
        let key = &step.change.key;
        told(
            step.action_name(),
            key.kind.slug(),
            &key.name,
            "rejected until git or the accepted state changes",
        )
    });
    refused.chain(accepted_drift).chain(held).collect()
}

/// Why a plan may not be proposed.
pub(crate) fn refusal_of(plan: &Plan) -> Option<windlass_store::RunError> {
    if let Some(stopped) = &plan.stopped {
        let problem = stopped.diagnostic();
        return Some(failure::run_error(
            Code::MassDestroy.slug(),
            problem.message,
            "look for an emptied or misplaced file; if it is meant, sync with confirm_mass_destroy",
        ));
    }
    // What another repository owns is proposed and blocked; the rest goes on.
    let is_fatal = |code: Code| code.severity() == Severity::Error && code != Code::OwnedElsewhere;
    let first = plan.problems.iter().find(|remark| is_fatal(remark.code))?;
    Some(failure::run_error(first.code.slug(), first.message.clone(), first.help.clone()))
}
