//! The signer of a commit, or why the commit does not count as signed.

use crate::git::commit_id::CommitId;
use crate::git::mirror::MirrorError;

/// The signer of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedBy {
    /// The key's fingerprint, as `ssh-keygen -l` or `gpg` prints it.
    pub fingerprint: String,
    /// The owner's name in the list of keys: a comment, principals or a user id. May be empty.
    pub name: String,
}

/// Why a commit does not count as signed.
#[derive(Debug, thiserror::Error)]
pub enum SignatureProblem {
    /// The commit has no signature.
    #[error("commit {commit} is not signed")]
    Unsigned {
        /// The commit.
        commit: CommitId,
    },
    /// The signing key is not in the list.
    #[error("commit {commit} is signed by a key that is not trusted: {fingerprint}")]
    UnknownKey {
        /// The commit.
        commit: CommitId,
        /// The fingerprint or key id that the signature names.
        fingerprint: String,
    },
    /// The signature does not match this commit, or cannot be parsed.
    #[error("the signature of commit {commit} is not valid: {reason}")]
    Invalid {
        /// The commit.
        commit: CommitId,
        /// The reason.
        reason: String,
    },
    /// The key was not valid at the time of the signature.
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
        /// The cause.
        #[source]
        source: MirrorError,
    },
}

impl SignatureProblem {
    /// A stable code.
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

/// What is wrong with a signature, without the commit.
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
