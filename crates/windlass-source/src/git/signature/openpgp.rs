//! Signatures made by `gpg`.
//!
//! A key in the list is not enough: the key, or a subkey it has bound, must be allowed to sign, not revoked, and not
//! expired at the time of the signature.

use gix::bstr::BStr;
use pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey, SignedPublicSubKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{Signature, SignatureType};
use pgp::types::{KeyDetails, Tag, VerifyingKey};

use super::outcome::{SignatureFlaw, SignedBy};
use super::signers::Signers;

pub(super) fn verify(armour: &BStr, signed: &[u8], signers: &Signers) -> Result<SignedBy, SignatureFlaw> {
    let invalid = |reason: &str| SignatureFlaw::Invalid(reason.to_owned());
    let (detached, _) = DetachedSignature::from_armor_single(armour.as_ref() as &[u8])
        .map_err(|_| invalid("the OpenPGP signature cannot be read"))?;
    let signature = &detached.signature;
    if !matches!(signature.typ(), Some(SignatureType::Binary | SignatureType::Text)) {
        return Err(invalid("it is not a signature of a document"));
    }
    if !signature.hash_alg().is_some_and(is_strong) {
        return Err(invalid("it uses a weak hash"));
    }
    let made_at = signature.created().ok_or_else(|| invalid("it has no creation time"))?.as_secs();
    if has_expired(made_at, signature.signature_expiration_time().map(pgp::types::Duration::as_secs), made_at)
    {
        return Err(SignatureFlaw::Expired(issuer(signature)));
    }
    for key in &signers.openpgp {
        if let Some(maker) = signer_of(signature, key) {
            return check(signature, signed, key, maker, made_at);
        }
    }
    Err(SignatureFlaw::UnknownKey(issuer(signature)))
}

/// The part of a key that made a signature.
enum SignerKey<'a> {
    Primary,
    Subkey(&'a SignedPublicSubKey),
}

fn signer_of<'a>(signature: &Signature, key: &'a SignedPublicKey) -> Option<SignerKey<'a>> {
    if names_key(signature, &key.primary_key) {
        return Some(SignerKey::Primary);
    }
    key.public_subkeys.iter().find(|subkey| names_key(signature, &subkey.key)).map(SignerKey::Subkey)
}

fn names_key(signature: &Signature, key: &impl KeyDetails) -> bool {
    let fingerprints = signature.issuer_fingerprint();
    if fingerprints.is_empty() {
        signature.issuer_key_id().contains(&&key.legacy_key_id())
    } else {
        fingerprints.contains(&&key.fingerprint())
    }
}

fn check(
    signature: &Signature,
    signed: &[u8],
    key: &SignedPublicKey,
    maker: SignerKey<'_>,
    made_at: u32,
) -> Result<SignedBy, SignatureFlaw> {
    let invalid = |reason: &str| SignatureFlaw::Invalid(reason.to_owned());
    let foreign = |_| invalid("it does not match the commit's content");
    let fingerprint = match &maker {
        SignerKey::Primary => fingerprint_text(&key.primary_key),
        SignerKey::Subkey(subkey) => fingerprint_text(&subkey.key),
    };
    let (name, own) = self_signature(key).ok_or_else(|| invalid("the key has no valid self-signature"))?;
    if key
        .details
        .revocation_signatures
        .iter()
        .any(|revocation| revocation.verify_key(&key.primary_key).is_ok())
    {
        return Err(invalid("the key is revoked"));
    }
    let is_expired = |created: u32, binding: &Signature| {
        has_expired(created, binding.key_expiration_time().map(pgp::types::Duration::as_secs), made_at)
    };
    if is_expired(key.primary_key.created_at().as_secs(), own) {
        return Err(SignatureFlaw::Expired(fingerprint));
    }
    match maker {
        SignerKey::Primary => {
            signature.verify(&key.primary_key, signed).map_err(foreign)?;
            if !own.key_flags().sign() {
                return Err(invalid("the key may not be used for signing"));
            }
        }
        SignerKey::Subkey(subkey) => {
            signature.verify(&subkey.key, signed).map_err(foreign)?;
            let binding = binding_of(subkey, &key.primary_key).map_err(invalid)?;
            if is_expired(subkey.key.created_at().as_secs(), binding) {
                return Err(SignatureFlaw::Expired(fingerprint));
            }
        }
    }
    Ok(SignedBy { fingerprint, name })
}

/// The newest self-signature of a key, and the user id it certifies.
fn self_signature(key: &SignedPublicKey) -> Option<(String, &Signature)> {
    let of_users = key.details.users.iter().flat_map(|user| {
        let vouched = user.signatures.iter().filter(|signature| {
            signature.is_certification()
                && signature.verify_certification(&key.primary_key, Tag::UserId, &user.id).is_ok()
        });
        vouched.map(|signature| (String::from_utf8_lossy(user.id.id()).into_owned(), signature))
    });
    let direct = key
        .details
        .direct_signatures
        .iter()
        .filter(|signature| signature.verify_key(&key.primary_key).is_ok());
    of_users
        .chain(direct.map(|signature| (String::new(), signature)))
        .max_by_key(|(_, signature)| signature.created())
}

/// The newest signature with which the primary key binds a subkey for signing.
fn binding_of<'a>(
    subkey: &'a SignedPublicSubKey,
    primary: &(impl VerifyingKey + pgp::ser::Serialize),
) -> Result<&'a Signature, &'static str> {
    let vouched = |signature: &&Signature| signature.verify_subkey_binding(primary, &subkey.key).is_ok();
    let of_type = |wanted: SignatureType| {
        subkey.signatures.iter().filter(move |signature| signature.typ() == Some(wanted)).filter(vouched)
    };
    if of_type(SignatureType::SubkeyRevocation).next().is_some() {
        return Err("the subkey is revoked");
    }
    let binding = of_type(SignatureType::SubkeyBinding)
        .max_by_key(|signature| signature.created())
        .ok_or("the subkey has no valid binding signature")?;
    let back = binding.embedded_signature();
    let is_mutual = back.is_some_and(|back| back.verify_primary_key_binding(&subkey.key, primary).is_ok());
    if binding.key_flags().sign() && is_mutual {
        Ok(binding)
    } else {
        Err("the subkey may not be used for signing")
    }
}

/// Whether a lifetime, counted from `created`, was over at `at`. Zero and `None` mean no expiry.
fn has_expired(created: u32, lives: Option<u32>, at: u32) -> bool {
    at < created || lives.is_some_and(|seconds| seconds != 0 && at >= created.saturating_add(seconds))
}

fn is_strong(hash: HashAlgorithm) -> bool {
    matches!(
        hash,
        HashAlgorithm::Sha256
            | HashAlgorithm::Sha384
            | HashAlgorithm::Sha512
            | HashAlgorithm::Sha3_256
            | HashAlgorithm::Sha3_512
    )
}

fn fingerprint_text(key: &impl KeyDetails) -> String {
    key.fingerprint().to_string().to_ascii_uppercase()
}

fn issuer(signature: &Signature) -> String {
    let fingerprint = signature.issuer_fingerprint().first().map(ToString::to_string);
    let id = || signature.issuer_key_id().first().map(ToString::to_string);
    fingerprint.or_else(id).unwrap_or_else(|| "not named".to_owned()).to_ascii_uppercase()
}
