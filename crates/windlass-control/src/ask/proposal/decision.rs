//! Decisions people take about proposals: approve, reject, edit. The same for the API, the web app and MCP.
//!
//! Many decisions taken at once are one transaction, and each is taken or refused for itself.

use serde_json::json;
use windlass_core::diagnostic::Diagnostic;
use windlass_core::proposal::{Proposal, Status};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, AuditEntry, Outcome, StoreError};

use crate::caller::Identity;
use crate::record;
use crate::refusal::{Refusal, RefusalKind};

/// Why a decision was not taken.
#[derive(Debug)]
pub enum DecisionError {
    /// There is no such proposal.
    NotFound,
    /// It is not open for this decision any more.
    Closed(Status),
    /// It is not what the caller reviewed.
    ContentChanged {
        /// What it is now.
        digest: String,
    },
    /// Someone typed its content, and the caller did not say which content they reviewed.
    ContentNotNamed {
        /// What it is now.
        digest: String,
    },
    /// The plan has no such set, or is not the repository's newest any more.
    SetChanged {
        /// The set of the whole plan as it is now; none if there is nothing to do any more.
        digest: Option<String>,
    },
    /// The set has so many destroys, and nobody said that they are meant.
    DestroysNotConfirmed(usize),
    /// It was changed since the version the caller named.
    VersionConflict,
    /// The policy, or its author, does not allow it.
    NotAllowed(String),
    /// What it was edited to is not sound.
    InvalidEdit(Vec<Diagnostic>),
    /// The request makes no sense.
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
                Refusal::conflict("not-open", message, help).on_record()
            }
            DecisionError::ContentChanged { digest } => {
                let message = format!("the proposal changed since your review: it would now apply {digest}");
                Refusal::conflict("moved", message, "review it again").on_record()
            }
            DecisionError::ContentNotNamed { digest } => {
                let message = format!(
                    "this proposal is an edit or a direct change, so an approval must give its digest: {digest}"
                );
                let help = "review it, then send this digest with the approval";
                Refusal::conflict("digest-needed", message, help).on_record()
            }
            DecisionError::SetChanged { digest } => {
                let now = match digest {
                    Some(digest) => format!("the whole plan is now {digest}"),
                    None => "nothing is left to approve".to_owned(),
                };
                let message = format!("the plan changed: {now}");
                Refusal::conflict("moved", message, "review the repository's newest run").on_record()
            }
            DecisionError::DestroysNotConfirmed(destroys) => {
                let message = format!("{destroys} changes of this set are destroys");
                let help = "to approve them too, set include_destroys";
                Refusal::unprocessable("destroys-not-confirmed", message, help).on_record()
            }
            DecisionError::NotAllowed(why) => {
                let help = "ask another approver";
                Refusal::new(RefusalKind::Forbidden, "not-allowed", why, help).on_record()
            }
            DecisionError::VersionConflict => Refusal::precondition(),
            DecisionError::InvalidEdit(diagnostics) => Refusal::invalid_resource(&diagnostics),
            DecisionError::InvalidRequest(message) => Refusal::unprocessable("senseless", message, ""),
            DecisionError::Store(error) => error.into(),
        }
    }
}

/// What became of a decision.
pub(crate) type DecisionResult = Result<(), DecisionError>;

/// Enters a refusal into the audit log.
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

/// The only one of several.
pub(crate) fn single_result(decided: Vec<DecisionResult>) -> DecisionResult {
    decided.into_iter().next().unwrap_or(Err(DecisionError::NotFound))
}
