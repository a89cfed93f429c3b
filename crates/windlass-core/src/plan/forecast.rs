//! The forecast of a step: what would happen if it were proposed now.

use serde::{Deserialize, Serialize};

use crate::blocked_by::{BlockedBy, BlockedByKind};
use crate::gate::{Consent, Judgement};
use crate::states::states;

states! {
    /// What the policy would do with a change.
    PolicyOutlook {
        /// It would be applied without approval.
        Auto "auto",
        /// It would need approval.
        Approval "approval",
        /// It could not be approved.
        Blocked "blocked",
    }
}

/// The forecast of a change. The decision is made only when the change is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepForecast {
    /// What would block the change besides a missing approval, in words.
    pub blocked_by: Vec<String>,
    /// What each of these is about, in the same order; none in documents of earlier versions.
    #[serde(default)]
    pub blocked_by_kinds: Vec<BlockedByKind>,
    /// What the policy would do.
    pub outlook: PolicyOutlook,
    /// The reasons, in words.
    pub reasons: Vec<String>,
    /// The rule that decides; `None` if no rule matches.
    pub rule: Option<String>,
}

impl StepForecast {
    /// The forecast for a judgement without approvals, and these blockers.
    pub fn of(judgement: Judgement, blocked_by: &[BlockedBy]) -> StepForecast {
        let (outlook, mut reasons) = match judgement.consent {
            Consent::Granted { .. } => (PolicyOutlook::Auto, Vec::new()),
            Consent::Needed { reasons, .. } => {
                (PolicyOutlook::Approval, reasons.iter().map(ToString::to_string).collect())
            }
            Consent::Refused { reason } => (PolicyOutlook::Blocked, vec![reason.to_string()]),
        };
        reasons.extend(judgement.hold.iter().map(ToString::to_string));
        StepForecast {
            blocked_by: BlockedBy::sentences(blocked_by),
            blocked_by_kinds: BlockedBy::kinds(blocked_by),
            outlook,
            reasons,
            rule: judgement.rule,
        }
    }
}
