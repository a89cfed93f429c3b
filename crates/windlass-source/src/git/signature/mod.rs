//! Verifies who signed a commit.
//!
//! A signature counts if it was made with one of the given keys and the key was valid at the time of the signature: the
//! committer's time for OpenSSH keys, as in git, and the signature's own time for OpenPGP. Whoever has an expired key
//! can backdate that time, so a key that is no longer trusted must be removed from the list.

mod openpgp;
mod openssh;
mod outcome;
mod signers;

use gix::bstr::ByteSlice as _;

pub use outcome::{SignatureProblem, SignedBy};
pub use signers::{Signers, SignersError};

use self::outcome::SignatureFlaw;
use super::commit_id::CommitId;
use super::mirror::{Mirror, MirrorError};

impl Mirror {
    /// Verifies the signature of a commit in the mirror.
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
            Err(SignatureFlaw::Invalid("unknown kind of signature".to_owned()))
        };
        result.map_err(|flaw| flaw.of(id))
    }
}
