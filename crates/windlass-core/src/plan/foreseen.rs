//! What would become of a step if it were proposed now.

use serde::{Deserialize, Serialize};

use crate::gate::{Consent, Judgement};

/// What the policy would do with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outlook {
    /// It would be applied without anybody being asked.
    Auto,
    /// Someone would have to approve it.
    Approval,
    /// Nobody could approve it.
    Blocked,
}

/// What would become of a change: foreseen now, decided only when it is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreseen {
    /// What the change would wait for beside approval.
    pub blocked_by: Vec<String>,
    /// What the policy would do.
    pub outlook: Outlook,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// The rule that decides; none if none matches.
    pub rule: Option<String>,
}

impl Foreseen {
    /// What a judgement without any approval means for a change that waits for these.
    pub fn of(judgement: Judgement, blocked_by: Vec<String>) -> Foreseen {
        let (outlook, mut reasons) = match judgement.consent {
            Consent::Granted { .. } => (Outlook::Auto, Vec::new()),
            Consent::Needed { reasons, .. } => (Outlook::Approval, reasons),
            Consent::Refused { reason } => (Outlook::Blocked, vec![reason]),
        };
        reasons.extend(judgement.hold.iter().map(ToString::to_string));
        Foreseen { blocked_by, outlook, reasons, rule: judgement.rule }
    }
}
