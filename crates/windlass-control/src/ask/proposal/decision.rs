//! Decisions about proposals: approve, reject, edit. The API, the web app and MCP share them.
//!
//! A batch of decisions is one transaction in which each decision succeeds or fails separately.

use serde_json::json;
use windlass_core::diagnostic::Diagnostic;
use windlass_core::proposal::{Proposal, Status};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, AuditEntry, Outcome, StoreError};

use crate::caller::Identity;
use crate::record;
use crate::refusal::{Refusal, RefusalKind};

/// Why a decision failed.
#[derive(Debug)]
pub enum DecisionError {
    /// There is no such proposal.
    NotFound,
    /// It is no longer open for this decision.
    Closed(Status),
    /// Its content changed since the caller reviewed it.
    ContentChanged {
        /// The digest of its content now.
        digest: String,
    },
    /// It is an edit or a direct change, and the caller did not name the content they reviewed.
    ContentNotNamed {
        /// The digest of its content now.
        digest: String,
    },
    /// The plan has no such set, or is no longer the repository's newest.
    SetChanged {
        /// The digest of the whole plan now; none if nothing is left to approve.
        digest: Option<String>,
    },
    /// The set has this many destroys, and the caller did not confirm them.
    DestroysNotConfirmed(usize),
    /// It changed since the version that the caller named.
    VersionConflict,
    /// This person may not approve it; the text is the reason.
    NotAllowed(String),
    /// The edited content is invalid.
    InvalidEdit(Vec<Diagnostic>),
    /// The request cannot be applied to this proposal or run.
    InvalidRequest(&'static str),
    /// The database failed.
    Store(StoreError),
}

impl From<StoreError> for DecisionError {
    fn from(error: StoreError) -> DecisionError {
        DecisionError::Store(error)
    }
}

impl From<DecisionError> for Refusal {
    fn from(error: DecisionError) -> Refusal {
        match error {
            DecisionError::NotFound => Refusal::not_found(),
            DecisionError::Closed(status) => {
                let message = format!("the proposal is {status}");
                let help = "only a proposal that is pending approval can be approved or rejected";
                Refusal::conflict("not-open", message, help).mark_recorded()
            }
            DecisionError::ContentChanged { digest } => {
                let message = format!("the proposal changed since your review: it would now apply {digest}");
                Refusal::conflict("moved", message, "review it again").mark_recorded()
            }
            DecisionError::ContentNotNamed { digest } => {
                let message = format!(
                    "this proposal is an edit or a direct change, so an approval must give its digest: {digest}"
                );
                let help = "review it, then send this digest with the approval";
                Refusal::conflict("digest-needed", message, help).mark_recorded()
            }
            DecisionError::SetChanged { digest } => {
                let now = match digest {
                    Some(digest) => format!("the whole plan is now {digest}"),
                    None => "nothing is left to approve".to_owned(),
                };
                let message = format!("the plan changed: {now}");
                Refusal::conflict("moved", message, "review the repository's newest run").mark_recorded()
            }
            DecisionError::DestroysNotConfirmed(destroys) => {
                let message = format!("{destroys} changes of this set are destroys");
                let help = "to approve them too, set include_destroys";
                Refusal::unprocessable("destroys-not-confirmed", message, help).mark_recorded()
            }
            DecisionError::NotAllowed(why) => {
                let help = "ask another approver";
                Refusal::new(RefusalKind::Forbidden, "not-allowed", why, help).mark_recorded()
            }
            DecisionError::VersionConflict => Refusal::changed_meanwhile(),
            DecisionError::InvalidEdit(diagnostics) => Refusal::invalid_resource(&diagnostics),
            DecisionError::InvalidRequest(message) => Refusal::unprocessable("senseless", message, ""),
            DecisionError::Store(error) => error.into(),
        }
    }
}

/// The outcome of a decision.
pub(crate) type DecisionResult = Result<(), DecisionError>;

/// Records a failed decision in the audit log.
pub(crate) fn record_refusal(
    writing: &mut AccountWriting,
    who: &Identity,
    proposal: &Proposal,
    action: &'static str,
    error: &DecisionError,
    now: Timestamp,
) {
    let reason = match error {
        DecisionError::Closed(status) => format!("it is {status}"),
        DecisionError::ContentChanged { .. } => "it changed since the review".to_owned(),
        DecisionError::ContentNotNamed { .. } => "the reviewed digest was not given".to_owned(),
        DecisionError::NotAllowed(why) => why.clone(),
        _ => "refused".to_owned(),
    };
    let detail = json!({"reason": reason, "resource": proposal.change.key.to_string()});
    writing.audit(AuditEntry {
        outcome: Outcome::Refused,
        ..record::audit_entry(&who.actor(), action, ("proposal", proposal.id.as_str()), detail, now)
    });
}

/// The result of a batch of one.
pub(crate) fn single_result(decided: Vec<DecisionResult>) -> DecisionResult {
    decided.into_iter().next().unwrap_or(Err(DecisionError::NotFound))
}
