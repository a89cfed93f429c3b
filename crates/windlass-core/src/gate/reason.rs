//! Why a change is not agreed to: types, each with one sentence for people.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::contributor::{ContributorRole, ContributorsGap};
use crate::states::states;

states! {
    /// Why people have to approve a change, or why an approval of it does not count.
    GateReasonKind as GateReason {
        /// A rule asks for approvals.
        RuleAsks "rule_asks",
        /// No rule matches.
        NoRule "no_rule",
        /// Another repository owns the resource.
        OwnedElsewhere "owned_elsewhere",
        /// Someone edited the proposal.
        Edited "edited",
        /// It is a direct change.
        Direct "direct",
        /// One approval more is needed, because someone may be missing among the contributors.
        ContributorsUnknown "contributors_unknown",
        /// An approval does not count.
        ApprovalIgnored "approval_ignored",
    }
}

/// Why people have to approve a change, or why an approval of it does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GateReason {
    /// A rule asks for approvals.
    RuleAsks {
        /// The rule.
        rule: String,
        /// How many.
        approvals: usize,
        /// Why, in the words of the policy; may be empty.
        reason: String,
    },
    /// No rule matches.
    NoRule {
        /// How many approvals are needed.
        approvals: usize,
    },
    /// Another repository owns the resource.
    OwnedElsewhere {
        /// How many approvals are needed.
        approvals: usize,
    },
    /// Someone edited the proposal.
    Edited {
        /// How many approvals are needed.
        approvals: usize,
    },
    /// It is a direct change.
    Direct {
        /// How many approvals are needed.
        approvals: usize,
    },
    /// One approval more is needed, because someone may be missing among the contributors.
    ContributorsUnknown {
        /// The rule that keeps contributors from approving.
        rule: String,
        /// Why someone may be missing.
        gap: ContributorsGap,
    },
    /// An approval does not count.
    ApprovalIgnored {
        /// Whose.
        approver: String,
        /// Why.
        why: IgnoredApproval,
    },
}

impl GateReason {
    /// The same in a word.
    pub const fn kind(&self) -> GateReasonKind {
        match self {
            GateReason::RuleAsks { .. } => GateReasonKind::RuleAsks,
            GateReason::NoRule { .. } => GateReasonKind::NoRule,
            GateReason::OwnedElsewhere { .. } => GateReasonKind::OwnedElsewhere,
            GateReason::Edited { .. } => GateReasonKind::Edited,
            GateReason::Direct { .. } => GateReasonKind::Direct,
            GateReason::ContributorsUnknown { .. } => GateReasonKind::ContributorsUnknown,
            GateReason::ApprovalIgnored { .. } => GateReasonKind::ApprovalIgnored,
        }
    }
}

impl fmt::Display for GateReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GateReason::RuleAsks { rule, approvals, reason } => {
                write!(f, "the rule `{rule}` requires {}", ApprovalCount(*approvals))?;
                write_own_words(f, reason)
            }
            GateReason::NoRule { approvals } => {
                write!(f, "no rule matches, so {} is needed", ApprovalCount(*approvals))
            }
            GateReason::OwnedElsewhere { approvals } => write!(
                f,
                "another repository owns it, and only people approve that: {} is needed",
                ApprovalCount(*approvals)
            ),
            GateReason::Edited { approvals } => write!(
                f,
                "it was edited, and only people approve what was edited: {} is needed",
                ApprovalCount(*approvals)
            ),
            GateReason::Direct { approvals } => write!(
                f,
                "it is a direct change, and only people approve those: {} is needed",
                ApprovalCount(*approvals)
            ),
            GateReason::ContributorsUnknown { rule, gap } => write!(
                f,
                "the rule `{rule}` needs one approval more than it says, because someone may be missing among the \
                 contributors, who cannot approve: {}",
                gap.reason()
            ),
            GateReason::ApprovalIgnored { approver, why } => write!(f, "the approval of {approver} {why}"),
        }
    }
}

/// Why an approval does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IgnoredApproval {
    /// It was given to another state of the change.
    OtherContent,
    /// It fell, for this reason.
    Lapsed(String),
    /// Whoever gave it may not approve in the account now.
    NoApprover,
    /// Whoever gave it had a hand in the change.
    Contributor(ContributorRole),
}

impl fmt::Display for IgnoredApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IgnoredApproval::OtherContent => f.write_str("was for another state of this change"),
            IgnoredApproval::Lapsed(why) => write!(f, "no longer counts: {why}"),
            IgnoredApproval::NoApprover => {
                f.write_str("does not count, because they may not approve in this account now")
            }
            IgnoredApproval::Contributor(role) => {
                write!(f, "does not count, because they are {}", role.phrase())
            }
        }
    }
}

/// A rule that blocks a change, whoever approves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockingRule {
    /// Its name.
    pub rule: String,
    /// Why, in the words of the policy; may be empty.
    pub reason: String,
}

impl fmt::Display for BlockingRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the rule `{}` blocks it", self.rule)?;
        write_own_words(f, &self.reason)
    }
}

fn write_own_words(f: &mut fmt::Formatter<'_>, words: &str) -> fmt::Result {
    match words.trim() {
        "" => Ok(()),
        words => write!(f, ": {words}"),
    }
}

/// So many approvals, for people.
pub(super) struct ApprovalCount(pub(super) usize);

impl fmt::Display for ApprovalCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("one approval"),
            many => write!(f, "{many} approvals"),
        }
    }
}
