//! Whose signature a commit carries, or why it does not count as signed.

use crate::git::commit_id::CommitId;
use crate::git::mirror::MirrorError;

/// Whose signature a commit carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedBy {
    /// The key's fingerprint, as `ssh-keygen -l` or `gpg` print it.
    pub fingerprint: String,
    /// What the list of keys calls its owner: a comment, principals or a user id. May be empty.
    pub name: String,
}

/// Why a commit does not count as signed.
#[derive(Debug, thiserror::Error)]
pub enum SignatureProblem {
    /// It carries no signature.
    #[error("commit {commit} is not signed")]
    Unsigned {
        /// The commit.
        commit: CommitId,
    },
    /// A key made the signature that is not in the list.
    #[error("commit {commit} is signed by a key that is not trusted: {fingerprint}")]
    UnknownKey {
        /// The commit.
        commit: CommitId,
        /// The fingerprint or key id that the signature names.
        fingerprint: String,
    },
    /// The signature does not belong to this commit, or cannot be read.
    #[error("the signature of commit {commit} is not valid: {reason}")]
    Invalid {
        /// The commit.
        commit: CommitId,
        /// What is wrong with it.
        reason: String,
    },
    /// The key was not valid, or not valid any more, when it signed.
    #[error("commit {commit} is signed by {fingerprint}, which was not valid at that time")]
    Expired {
        /// The commit.
        commit: CommitId,
        /// The key.
        fingerprint: String,
    },
    /// The commit could not be read.
    #[error("could not verify the signature of commit {commit}")]
    Unreadable {
        /// The commit.
        commit: CommitId,
        /// Why not.
        #[source]
        source: MirrorError,
    },
}

impl SignatureProblem {
    /// A word for it that never changes.
    pub fn code(&self) -> &'static str {
        match self {
            SignatureProblem::Unsigned { .. } => "unsigned",
            SignatureProblem::UnknownKey { .. } => "unknown-key",
            SignatureProblem::Invalid { .. } => "invalid-signature",
            SignatureProblem::Expired { .. } => "expired-key",
            SignatureProblem::Unreadable { .. } => "unreadable",
        }
    }
}

/// What is wrong with a signature, before it is known whose commit it is.
pub(super) enum SignatureFlaw {
    UnknownKey(String),
    Invalid(String),
    Expired(String),
}

impl SignatureFlaw {
    pub(super) fn of(self, commit: &CommitId) -> SignatureProblem {
        let commit = commit.clone();
        match self {
            SignatureFlaw::UnknownKey(fingerprint) => SignatureProblem::UnknownKey { commit, fingerprint },
            SignatureFlaw::Invalid(reason) => SignatureProblem::Invalid { commit, reason },
            SignatureFlaw::Expired(fingerprint) => SignatureProblem::Expired { commit, fingerprint },
        }
    }
}
