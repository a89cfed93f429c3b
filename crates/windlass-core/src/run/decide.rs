//! Decides what a run proposes, from desired and accepted state. Pure.

use crate::accepted::{Accepted, Owner};
use crate::code::{Code, ProblemSeverity};
use crate::desired::Desired;
use crate::diff::{Change, compare};
use crate::drift::Acceptances;
use crate::plan::{self, MassDestroyConfirmation, Plan};
use crate::run::RunError;
use crate::time::Timestamp;
use serde_json::{Value, json};

/// A plan, and the differences that it leaves out because someone accepted them.
pub struct RunDecision {
    /// The plan.
    pub plan: Plan,
    /// The accepted differences, each with its reason.
    pub accepted_drift: Vec<(Change, String)>,
    /// The earliest expiry of those acceptances.
    pub accepted_until: Option<Timestamp>,
}

impl RunDecision {
    /// A decision without differences.
    pub fn nothing(account: &str) -> RunDecision {
        RunDecision { plan: Plan::nothing(account), accepted_drift: Vec::new(), accepted_until: None }
    }
}

/// Decides what a run proposes: all differences except the accepted ones.
pub fn decide(
    desired: &Desired,
    accepted: &Accepted,
    repository: &Owner,
    acceptances: &Acceptances,
    confirmation: MassDestroyConfirmation,
    now: Timestamp,
) -> RunDecision {
    let mut comparison = compare(desired, accepted, repository);
    let mut accepted_drift = Vec::new();
    let mut accepted_until: Option<Timestamp> = None;
    comparison.changes.retain(|change| match acceptances.of(&change.key, change.desired, change.base, now) {
        Some(acceptance) => {
            let reason = format!("accepted by {}: {}", acceptance.by, acceptance.reason);
            accepted_drift.push((change.clone(), reason));
            let ends = [accepted_until, acceptance.until].into_iter().flatten();
            accepted_until = ends.min();
            false
        }
        None => true,
    });
    RunDecision { plan: plan::build(desired, comparison, confirmation), accepted_drift, accepted_until }
}

/// Differences that are not proposed, as a run shows them.
pub fn skipped_changes(decided: &RunDecision, held_back: &[usize]) -> Vec<Value> {
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
pub fn refusal_of(plan: &Plan) -> Option<RunError> {
    if let Some(stopped) = &plan.stopped {
        let problem = stopped.diagnostic();
        return Some(RunError::new(
            Code::MassDestroy.slug(),
            problem.message,
            "check for an emptied or misplaced file; if it is intended, sync with confirm_mass_destroy",
        ));
    }
    // A resource of another repository is proposed and blocked; the other changes are not affected.
    let is_fatal = |code: Code| code.severity() == ProblemSeverity::Error && code != Code::OwnedElsewhere;
    let first = plan.problems.iter().find(|remark| is_fatal(remark.code))?;
    Some(RunError::new(first.code.slug(), first.message.clone(), first.help.clone()))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
