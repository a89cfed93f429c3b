//! A sign-in in progress. The browser keeps it in a cookie that this server signed and that is valid for ten minutes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use windlass_core::digest::Digest;
use windlass_core::time::Timestamp;

/// How many seconds a person has to sign in at the provider.
pub const ATTEMPT_SECONDS: u64 = 600;

/// The audience of the signature. Session cookies have another one, so that neither can be used as the other.
const AUDIENCE: &str = "windlass-sign-in";

/// A sign-in in progress.
#[derive(Clone, Serialize, Deserialize)]
pub struct SignInAttempt {
    aud: String,
    exp: i64,
    issuer: String,
    pub(crate) state: String,
    pub(crate) nonce: String,
    pub(crate) verifier: String,
    /// The page to open after signing in.
    pub next: String,
    /// The account, if one was named.
    pub account: Option<String>,
}

fn random_word() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}

impl SignInAttempt {
    /// Starts a sign-in at this issuer.
    pub(crate) fn new(issuer: &str, next: &str, account: Option<&str>, now: Timestamp) -> SignInAttempt {
        SignInAttempt {
            aud: AUDIENCE.to_owned(),
            exp: now.as_millis() / 1000 + i64::try_from(ATTEMPT_SECONDS).unwrap_or(i64::MAX),
            issuer: issuer.to_owned(),
            state: random_word(),
            nonce: random_word(),
            verifier: random_word(),
            next: next.to_owned(),
            account: account.map(str::to_owned),
        }
    }

    /// The PKCE challenge: the hash of the verifier, which does not reveal it.
    pub(crate) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Digest::of(self.verifier.as_bytes()).as_bytes())
    }

    /// Whether a callback's `state` belongs to this attempt.
    pub(crate) fn has_state(&self, state: &str) -> bool {
        bool::from(self.state.as_bytes().ct_eq(state.as_bytes()))
    }

    /// The attempt as the signed value of a cookie.
    pub(crate) fn to_cookie(&self, key: &[u8]) -> String {
        let key = EncodingKey::from_secret(key);
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), self, &key).unwrap_or_default()
    }

    /// The attempt in a cookie, if this server signed it for this issuer and it has not expired.
    pub(crate) fn open(value: &str, key: &[u8], issuer: &str) -> Option<SignInAttempt> {
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_audience(&[AUDIENCE]);
        validation.set_required_spec_claims(&["exp", "aud"]);
        validation.leeway = 0;
        let attempt: SignInAttempt =
            jsonwebtoken::decode(value, &DecodingKey::from_secret(key), &validation).ok()?.claims;
        (attempt.issuer == issuer).then_some(attempt)
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    /// The library that opens attempts reads the system's clock itself.
    fn now() -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or_default())
    }

    #[test]
    fn an_attempt_is_opened_only_with_its_key_and_at_its_issuer() {
        let mut attempt = SignInAttempt::new("https://id.example.com", "/app", None, now());
        let to_cookie = attempt.to_cookie(b"key");
        let open = |value: &str, key: &[u8], issuer: &str| SignInAttempt::open(value, key, issuer).is_some();
        assert!(open(&to_cookie, b"key", "https://id.example.com"));
        assert!(!open(&to_cookie, b"other", "https://id.example.com"));
        assert!(!open(&to_cookie, b"key", "https://other.example.com"));
        assert!(attempt.has_state(&attempt.state.clone()) && !attempt.has_state(""));
        attempt.exp = now().as_millis() / 1000 - 1;
        assert!(!open(&attempt.to_cookie(b"key"), b"key", "https://id.example.com"));
        attempt.exp += 600;
        attempt.aud = "windlass".to_owned();
        assert!(!open(&attempt.to_cookie(b"key"), b"key", "https://id.example.com"));
    }

    #[test]
    fn the_challenge_is_the_one_of_the_standard() {
        let mut attempt = SignInAttempt::new("", "", None, Timestamp::from_millis(0));
        "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".clone_into(&mut attempt.verifier);
        assert_eq!(attempt.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
