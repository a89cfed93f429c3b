//! The secret of a repository's webhook. It is derived when it is needed, and stored nowhere.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use windlass_core::id::RepositoryId;
use windlass_core::redacted::Redacted;

/// The prefix of the derivation. Sessions and forms are signed with the same key; their content is JSON or base64 and
/// never begins with this text.
const PURPOSE: &str = "windlass webhook secret 1";

/// A 256-bit secret that a forge and this server share.
#[derive(Clone, Debug)]
pub struct WebhookSecret(Redacted<[u8; 32]>);

impl WebhookSecret {
    /// The secret of a repository. Each generation has a different secret.
    pub fn derive(key: &[u8], repository_id: &RepositoryId, generation: i64) -> WebhookSecret {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        let message = format!("{PURPOSE}\0{repository_id}\0{generation}");
        let tag = hmac::sign(&key, message.as_bytes());
        let mut bytes = [0; 32];
        bytes.copy_from_slice(tag.as_ref());
        WebhookSecret(Redacted::new(bytes))
    }

    /// The secret as people paste it into a forge: 64 hex digits.
    pub fn text(&self) -> Redacted<String> {
        Redacted::new(hex(self.0.expose()))
    }

    /// The secret as a GitLab signing token: `whsec_` and base64.
    pub fn signing_token(&self) -> Redacted<String> {
        Redacted::new(format!("whsec_{}", STANDARD.encode(self.0.expose())))
    }

    /// The HMAC key for forges that sign with the pasted text.
    pub(super) fn text_key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.text().expose().as_bytes())
    }

    /// The HMAC key for forges that sign with the signing token.
    pub(super) fn raw_key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.0.expose())
    }
}

/// Bytes as lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of a hex-encoded HMAC; `None` if the text is not one.
pub(super) fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let nibble = |digit: u8| char::from(digit).to_digit(16);
        let value = nibble(pair[0])? * 16 + nibble(pair[1])?;
        *byte = u8::try_from(value).ok()?;
    }
    Some(bytes)
}
