//! Policy × approvals × now → may a change be applied?
//!
//! A [`Policy`] is a document per account: ordered rules, the first that matches decides. [`judge`] is the one place
//! that answers; whoever applies something asks it, and asks again right before. Nothing here approves, applies or
//! remembers anything, and nobody else may decide the same question in another way.

mod approver;
mod contributor;
mod empty;
mod halt;
mod host;
mod identity;
mod judge;
mod names;
mod pattern;
mod policy;
mod reason;
mod repository;
mod review;
mod subject;
mod window;

#[cfg(test)]
mod tests;

pub use approver::Approvers;
pub use contributor::{
    Contributor, ContributorRole, Contributors, ContributorsGap, MAX_NAMED, MAX_PUSHERS, unread_history_gap,
};
pub use halt::{FailedSync, Halt};
pub use host::{HostResource, hosts_of};
pub use identity::RepositoryIdentity;
pub use judge::{
    Consent, ConsentState, GrantedBy, Hold, Judgement, Notify, judge, why_approval_does_not_count,
    why_cannot_approve,
};
pub use names::NameProblem;
pub use pattern::{NamePattern, PathPattern, RepositoryPattern};
pub use policy::{MAX_POLICY_BYTES, Policy, PolicyAction, PolicyMatch, PolicyRule};
pub use reason::{BlockingRule, GateReason, GateReasonKind, IgnoredApproval};
pub use repository::{RepositoryChange, RepositorySettings, why_approver_required};
pub use review::{ReviewProblem, check_review};
pub use subject::{ApprovalFacts, AutoApply, ContentOrigin, GateSubject, GivenApprovals, approval_digest};
pub use window::{ClockTime, PolicyTimeZone, PolicyWindow, Weekday, WindowOpening};
