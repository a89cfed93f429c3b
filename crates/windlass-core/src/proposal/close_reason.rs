//! Why a proposal is where it is: types, each with one word for programs and one sentence for people.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::blocked_by::BlockedBy;
use crate::gate::GateReason;
use crate::states::states;

states! {
    /// Why a proposal was closed, returned to approval or decided.
    CloseReasonKind as CloseReason {
        /// Git declares something else since it was proposed.
        GitMoved "git_moved",
        /// The accepted state changed since it was proposed.
        AcceptedMoved "accepted_moved",
        /// The accepted state changed since it was approved.
        AcceptedMovedSinceApproval "accepted_moved_since_approval",
        /// Someone made the same change manually.
        MadeByHand "made_by_hand",
        /// Git and the accepted state agree again.
        NoDifference "no_difference",
        /// A newer direct change of the same resource replaced it.
        ReplacedByDirectChange "replaced_by_direct_change",
        /// It is a direct change, and the resource has another owner since it was proposed.
        OwnerChanged "owner_changed",
        /// It was approved, and its repository is not there any more.
        RepositoryGone "repository_gone",
        /// Someone removed its repository.
        RepositoryRemoved "repository_removed",
        /// Someone removed the repository that owned the resource.
        OwnerRemoved "owner_removed",
        /// Someone changed where its repository is read from.
        RepositorySourceChanged "repository_source_changed",
        /// Its repository moved to another account.
        RepositoryMoved "repository_moved",
        /// Its repository returned to this account.
        RepositoryReturned "repository_returned",
        /// Nobody decided in time.
        NotDecided "not_decided",
        /// It was approved but could not be applied in time.
        NotApplied "not_applied",
        /// It lacks approvals by now, so that people are asked again.
        ApprovalsMissing "approvals_missing",
        /// Applying it failed.
        ApplyFailed "apply_failed",
        /// Someone decided, and gave this reason in their own words.
        OwnWords "own_words",
        /// A reason that an earlier version wrote as text.
        Text "text",
    }
}

/// Why a proposal was closed, returned to approval or decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CloseReason {
    /// Git declares something else since it was proposed.
    GitMoved,
    /// The accepted state changed since it was proposed.
    AcceptedMoved,
    /// The accepted state changed since it was approved.
    AcceptedMovedSinceApproval,
    /// Someone made the same change manually.
    MadeByHand,
    /// Git and the accepted state agree again.
    NoDifference,
    /// A newer direct change of the same resource replaced it.
    ReplacedByDirectChange,
    /// It is a direct change, and the resource has another owner since it was proposed.
    OwnerChanged,
    /// It was approved, and its repository is not there any more.
    RepositoryGone,
    /// Someone removed its repository.
    RepositoryRemoved,
    /// Someone removed the repository that owned the resource.
    OwnerRemoved,
    /// Someone changed where its repository is read from.
    RepositorySourceChanged,
    /// Its repository moved to another account.
    RepositoryMoved,
    /// Its repository returned to this account.
    RepositoryReturned,
    /// Nobody decided in time.
    NotDecided {
        /// How it comes back.
        again: ProposedAgain,
    },
    /// It was approved but could not be applied in time.
    NotApplied {
        /// What was in the way, if anything is known of it.
        blocked_by: Vec<BlockedBy>,
        /// How it comes back.
        again: ProposedAgain,
    },
    /// It lacks approvals by now, so that people are asked again.
    ApprovalsMissing {
        /// Why more are needed.
        reasons: Vec<GateReason>,
    },
    /// Applying it failed.
    ApplyFailed {
        /// What the database said.
        error: String,
    },
    /// Someone decided, and gave this reason in their own words.
    OwnWords {
        /// Their words.
        text: String,
    },
    /// A reason as an earlier version wrote it.
    Text {
        /// What it wrote.
        text: String,
    },
}

/// How a change is proposed again whose proposal expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposedAgain {
    /// By the next sync of its repository.
    BySync,
    /// By whoever still wants to make it directly.
    ByAuthor,
}

impl CloseReason {
    /// Someone's own words.
    pub fn own_words(text: &str) -> CloseReason {
        CloseReason::OwnWords { text: text.to_owned() }
    }

    /// The same in a word.
    pub const fn kind(&self) -> CloseReasonKind {
        match self {
            CloseReason::GitMoved => CloseReasonKind::GitMoved,
            CloseReason::AcceptedMoved => CloseReasonKind::AcceptedMoved,
            CloseReason::AcceptedMovedSinceApproval => CloseReasonKind::AcceptedMovedSinceApproval,
            CloseReason::MadeByHand => CloseReasonKind::MadeByHand,
            CloseReason::NoDifference => CloseReasonKind::NoDifference,
            CloseReason::ReplacedByDirectChange => CloseReasonKind::ReplacedByDirectChange,
            CloseReason::OwnerChanged => CloseReasonKind::OwnerChanged,
            CloseReason::RepositoryGone => CloseReasonKind::RepositoryGone,
            CloseReason::RepositoryRemoved => CloseReasonKind::RepositoryRemoved,
            CloseReason::OwnerRemoved => CloseReasonKind::OwnerRemoved,
            CloseReason::RepositorySourceChanged => CloseReasonKind::RepositorySourceChanged,
            CloseReason::RepositoryMoved => CloseReasonKind::RepositoryMoved,
            CloseReason::RepositoryReturned => CloseReasonKind::RepositoryReturned,
            CloseReason::NotDecided { .. } => CloseReasonKind::NotDecided,
            CloseReason::NotApplied { .. } => CloseReasonKind::NotApplied,
            CloseReason::ApprovalsMissing { .. } => CloseReasonKind::ApprovalsMissing,
            CloseReason::ApplyFailed { .. } => CloseReasonKind::ApplyFailed,
            CloseReason::OwnWords { .. } => CloseReasonKind::OwnWords,
            CloseReason::Text { .. } => CloseReasonKind::Text,
        }
    }

    /// The stored form: a JSON object with its kind and its data.
    pub fn to_stored(&self) -> String {
        serde_json::to_value(self).unwrap_or_default().to_string()
    }

    /// Reads the stored form. Earlier versions wrote plain text in the same place, and people may have written anything
    /// there: whatever is no reason of ours is such text.
    pub fn from_stored(stored: &str) -> CloseReason {
        let ours = stored.starts_with('{').then(|| serde_json::from_str(stored).ok()).flatten();
        ours.unwrap_or_else(|| CloseReason::Text { text: stored.to_owned() })
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            CloseReason::GitMoved => "git changed since this was proposed",
            CloseReason::AcceptedMoved => "the accepted state changed since this was proposed",
            CloseReason::AcceptedMovedSinceApproval => "the accepted state changed since this was approved",
            CloseReason::MadeByHand => "someone made this change manually",
            CloseReason::NoDifference => "there is no difference any more",
            CloseReason::ReplacedByDirectChange => "a newer direct change replaced it",
            CloseReason::OwnerChanged => "the owner of the resource changed since this was proposed",
            CloseReason::RepositoryGone => "its repository was removed",
            CloseReason::RepositoryRemoved => "the repository was removed",
            CloseReason::OwnerRemoved => "the repository that owned it was removed",
            CloseReason::RepositorySourceChanged => "the source of the repository changed",
            CloseReason::RepositoryMoved => "the repository moved to another account",
            CloseReason::RepositoryReturned => "the repository returned to this account",
            CloseReason::NotDecided { again } => return write!(f, "nobody decided in time; {again}"),
            CloseReason::NotApplied { blocked_by, again } => {
                f.write_str("it was approved but could not be applied in time")?;
                if !blocked_by.is_empty() {
                    f.write_str(": ")?;
                    write_joined(f, blocked_by)?;
                }
                return write!(f, "; {again}");
            }
            CloseReason::ApprovalsMissing { reasons } => return write_joined(f, reasons),
            CloseReason::ApplyFailed { error: text }
            | CloseReason::OwnWords { text }
            | CloseReason::Text { text } => text,
        };
        f.write_str(sentence)
    }
}

impl fmt::Display for ProposedAgain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProposedAgain::BySync => "the next sync proposes it again",
            ProposedAgain::ByAuthor => "request it again if it is still needed",
        })
    }
}

fn write_joined<T: fmt::Display>(f: &mut fmt::Formatter<'_>, reasons: &[T]) -> fmt::Result {
    for (index, reason) in reasons.iter().enumerate() {
        let separator = if index == 0 { "" } else { "; " };
        write!(f, "{separator}{reason}")?;
    }
    Ok(())
}
