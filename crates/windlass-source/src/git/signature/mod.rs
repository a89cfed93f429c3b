//! Who signed a commit.
//!
//! A signature counts if one of the given keys made it and the key was valid at the moment the signature says it was
//! made: the committer's time for OpenSSH keys, as git does it, and the signature's own time for OpenPGP. Whoever holds
//! an expired key can put that moment into the past; a key that is no longer trusted is taken out of the list.

mod openpgp;
mod openssh;
mod signers;

use gix::bstr::ByteSlice as _;

pub use signers::{Signers, SignersError};

use super::commit::CommitId;
use super::mirror::{Mirror, MirrorError};

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
    #[error("the signature of commit {commit} could not be looked at")]
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
enum Flaw {
    UnknownKey(String),
    Invalid(String),
    Expired(String),
}

impl Flaw {
    fn of(self, commit: &CommitId) -> SignatureProblem {
        let commit = commit.clone();
        match self {
            Flaw::UnknownKey(fingerprint) => SignatureProblem::UnknownKey { commit, fingerprint },
            Flaw::Invalid(reason) => SignatureProblem::Invalid { commit, reason },
            Flaw::Expired(fingerprint) => SignatureProblem::Expired { commit, fingerprint },
        }
    }
}

impl Mirror {
    /// Whose signature a commit of the mirror carries.
    pub fn verify(&self, id: &CommitId, signers: &Signers) -> Result<SignedBy, SignatureProblem> {
        let unreadable = |source: MirrorError| SignatureProblem::Unreadable { commit: id.clone(), source };
        let repository = self.open().map_err(unreadable)?;
        let commit = self.find_commit(&repository, id).map_err(unreadable)?;
        let broken = |source: gix::Error| unreadable(MirrorError::unreadable(id, source));
        let seconds = commit.committer().map_err(broken)?.seconds();
        let Some((armour, signed)) = commit.signature().map_err(broken)? else {
            return Err(SignatureProblem::Unsigned { commit: id.clone() });
        };
        let signed = signed.to_bstring();
        let result = if armour.trim_start().starts_with_str("-----BEGIN SSH SIGNATURE") {
            openssh::verify(&armour, &signed, seconds, signers)
        } else if armour.trim_start().starts_with_str("-----BEGIN PGP") {
            openpgp::verify(&armour, &signed, signers)
        } else {
            Err(Flaw::Invalid("it is of a kind that is not known here".to_owned()))
        };
        result.map_err(|flaw| flaw.of(id))
    }
}
