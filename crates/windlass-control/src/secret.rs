//! Random secrets: API tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use windlass_core::digest::Digest;
use windlass_core::redacted::Redacted;

/// The prefix of API tokens, so that people and scanners recognise one.
pub const TOKEN_PREFIX: &str = "wlt_";

/// A new API token: 256 random bits.
pub(crate) fn new_token_secret() -> Redacted<String> {
    Redacted::new(format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())))
}

/// The prefix of tokens with which agents enrol.
const ENROLMENT_PREFIX: &str = "wlenroll_";

/// A new token with which an agent enrols: 256 random bits.
pub(crate) fn new_enrolment_secret() -> Redacted<String> {
    Redacted::new(format!("{ENROLMENT_PREFIX}{}", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())))
}

/// The hash that is stored of an API token. A token is random enough that no slow hash is needed.
pub fn hash_of_secret(secret: &str) -> String {
    Digest::of(secret.as_bytes()).to_string()
}
