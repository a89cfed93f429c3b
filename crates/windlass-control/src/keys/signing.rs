//! Ed25519 signatures, with the library that TLS uses anyway.

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use windlass_core::digest::Digest;
use windlass_core::id::AuditKeyId;

/// A key pair that signs one type of message: checkpoints of the audit log, or assignments of targets.
pub(crate) struct Signer {
    pair: Ed25519KeyPair,
}

impl Signer {
    pub(crate) fn from_seed(seed: &[u8; 32]) -> Option<Signer> {
        Ed25519KeyPair::from_seed_unchecked(seed).ok().map(|pair| Signer { pair })
    }

    /// The public half, as base64.
    pub(crate) fn public_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key().as_ref())
    }

    /// The id of the key: the first bytes of the digest of its public half.
    pub(crate) fn key_id(&self) -> AuditKeyId {
        key_id_of(&self.public_key())
    }

    /// A signature, as base64.
    pub(crate) fn sign(&self, message: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.sign(message.as_bytes()).as_ref())
    }
}

/// The message that two keys sign when one replaces the other.
pub(crate) fn follows_message(before: &str, after: &str) -> String {
    serde_json::json!(["windlass audit key 1", before, after]).to_string()
}

/// The id of a public key.
pub(crate) fn key_id_of(public_key: &str) -> AuditKeyId {
    let digest = Digest::of(public_key.as_bytes());
    let text: String = digest.as_bytes()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    AuditKeyId::new(text)
}

/// Whether a message was signed with the private half of a public key.
pub(crate) fn is_signed_by(public_key: &str, message: &str, signature: &str) -> bool {
    let (Ok(key), Ok(signature)) = (URL_SAFE_NO_PAD.decode(public_key), URL_SAFE_NO_PAD.decode(signature))
    else {
        return false;
    };
    UnparsedPublicKey::new(&ED25519, key).verify(message.as_bytes(), &signature).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_signed_message_and_its_key_verify() {
        let (one, other) = (Signer::from_seed(&[1; 32]), Signer::from_seed(&[2; 32]));
        let (Some(one), Some(other)) = (one, other) else { panic!("any seed makes a key") };
        let signature = one.sign("a message");
        assert!(is_signed_by(&one.public_key(), "a message", &signature));
        assert!(!is_signed_by(&one.public_key(), "another message", &signature));
        assert!(!is_signed_by(&other.public_key(), "a message", &signature));
        assert!(!is_signed_by(&one.public_key(), "a message", "nonsense"));
        assert!(!is_signed_by("nonsense", "a message", &signature));
    }
}
