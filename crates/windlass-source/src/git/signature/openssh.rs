//! Signatures made by `ssh-keygen -Y sign`.

use gix::bstr::BStr;
use ssh_key::{HashAlg, PublicKey, SshSig};
use windlass_core::time::Timestamp;

use super::outcome::{SignatureFlaw, SignedBy};
use super::signers::{Signers, SshSigner};

/// The namespace that git uses. A signature with another namespace was not made for a commit.
const NAMESPACE: &str = "git";

pub(super) fn verify(
    armour: &BStr,
    signed: &[u8],
    seconds: i64,
    signers: &Signers,
) -> Result<SignedBy, SignatureFlaw> {
    let invalid = |reason: &str| SignatureFlaw::Invalid(reason.to_owned());
    let signature = SshSig::from_pem(armour).map_err(|_| invalid("the OpenSSH signature cannot be read"))?;
    let maker = PublicKey::from(signature.public_key().clone());
    let fingerprint = maker.fingerprint(HashAlg::Sha256).to_string();
    if signature.namespace() != NAMESPACE {
        return Err(invalid("it is not a git signature"));
    }
    let listed: Vec<&SshSigner> =
        signers.openssh.iter().filter(|signer| signer.key.key_data() == maker.key_data()).collect();
    if listed.is_empty() {
        return Err(SignatureFlaw::UnknownKey(fingerprint));
    }
    maker
        .verify(NAMESPACE, signed, &signature)
        .map_err(|_| invalid("it does not match the commit's content"))?;
    let at = Timestamp::from_millis(seconds.saturating_mul(1000));
    match listed.into_iter().find(|signer| is_valid(signer, at)) {
        Some(signer) => Ok(SignedBy { fingerprint, name: signer.name.clone() }),
        None => Err(SignatureFlaw::Expired(fingerprint)),
    }
}

fn is_valid(signer: &SshSigner, at: Timestamp) -> bool {
    signer.valid_after.is_none_or(|from| at >= from) && signer.valid_before.is_none_or(|until| at < until)
}
