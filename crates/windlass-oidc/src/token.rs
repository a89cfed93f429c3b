//! Checks ID tokens: signature, issuer, audience, nonce and time. Pure, except that the JWT library reads the system's
//! clock.

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation};
use serde_json::{Map, Value};
use subtle::ConstantTimeEq as _;

use crate::error::TokenFault;
use crate::keys::JsonWebKeys;

/// Asymmetric algorithms only. Never `none`, and never one with a shared secret.
const ALLOWED_ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// How many seconds the provider's clock may differ from ours.
const SKEW: u64 = 60;

/// The claims that a token must have.
#[derive(Clone, Copy)]
pub(crate) struct ExpectedClaims<'e> {
    pub(crate) issuer: &'e str,
    pub(crate) client_id: &'e str,
    pub(crate) nonce: &'e str,
}

/// The claims of a token, if the token is valid and has the expected claims.
pub(crate) fn verify(
    token: &str,
    keys: &JsonWebKeys,
    expected: ExpectedClaims<'_>,
) -> Result<Map<String, Value>, TokenFault> {
    let header = jsonwebtoken::decode_header(token).map_err(|_| TokenFault::Algorithm)?;
    // A critical header that we do not know must not be ignored (RFC 7515).
    if !ALLOWED_ALGORITHMS.contains(&header.alg) || header.crit.is_some() {
        return Err(TokenFault::Algorithm);
    }
    let mut validation = Validation::new(header.alg);
    validation.set_issuer(&[expected.issuer]);
    validation.set_audience(&[expected.client_id]);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    validation.validate_nbf = true;
    validation.leeway = SKEW;
    let mut fault = TokenFault::Key;
    for key in keys.matching_keys(header.kid.as_deref(), header.alg) {
        match jsonwebtoken::decode::<Map<String, Value>>(token, &key, &validation) {
            Ok(decoded) => {
                check_claims(&decoded.claims, expected)?;
                return Ok(decoded.claims);
            }
            Err(error) => fault = fault_of(error.kind()),
        }
    }
    Err(fault)
}

fn fault_of(kind: &ErrorKind) -> TokenFault {
    match kind {
        ErrorKind::InvalidIssuer => TokenFault::Issuer,
        ErrorKind::InvalidAudience => TokenFault::Audience,
        ErrorKind::ExpiredSignature | ErrorKind::ImmatureSignature => TokenFault::Time,
        ErrorKind::MissingRequiredClaim(_) | ErrorKind::Json(_) => TokenFault::Incomplete,
        _ => TokenFault::Signature,
    }
}

/// Checks that the JWT library does not make.
fn check_claims(claims: &Map<String, Value>, expected: ExpectedClaims<'_>) -> Result<(), TokenFault> {
    let nonce = claims.get("nonce").and_then(Value::as_str).ok_or(TokenFault::Nonce)?;
    if expected.nonce.is_empty() || !bool::from(nonce.as_bytes().ct_eq(expected.nonce.as_bytes())) {
        return Err(TokenFault::Nonce);
    }
    // A token with several audiences names the party it was issued to in `azp`.
    let others = match claims.get("aud") {
        Some(Value::Array(all)) => all.iter().filter(|one| one.as_str() != Some(expected.client_id)).count(),
        _ => 0,
    };
    match claims.get("azp") {
        None if others == 0 => Ok(()),
        Some(party) if party.as_str() == Some(expected.client_id) => Ok(()),
        _ => Err(TokenFault::Audience),
    }
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::EncodingKey;
    use jsonwebtoken::Header;
    use serde_json::json;

    use super::*;

    const EXPECTED: ExpectedClaims<'_> =
        ExpectedClaims { issuer: "https://id.example.com", client_id: "windlass", nonce: "nonce-1" };

    fn claims(changed: &[(&str, Value)]) -> Map<String, Value> {
        let later = jsonwebtoken::get_current_timestamp() + 600;
        let claims =
            json!({"iss": EXPECTED.issuer, "aud": "windlass", "sub": "1", "nonce": "nonce-1", "exp": later});
        let Value::Object(mut claims) = claims else { unreachable!("an object was written") };
        for (name, value) in changed {
            claims.insert((*name).to_owned(), value.clone());
        }
        claims
    }

    #[test]
    fn the_party_a_token_was_made_for_is_this_server() {
        for (changed, expected) in [
            (vec![], Ok(())),
            (vec![("azp", json!("windlass"))], Ok(())),
            (vec![("aud", json!(["windlass"]))], Ok(())),
            (vec![("aud", json!(["windlass", "other"])), ("azp", json!("windlass"))], Ok(())),
            (vec![("aud", json!(["windlass", "other"]))], Err(TokenFault::Audience)),
            (vec![("azp", json!("other"))], Err(TokenFault::Audience)),
            (vec![("azp", json!(7))], Err(TokenFault::Audience)),
            (vec![("nonce", json!("nonce-2"))], Err(TokenFault::Nonce)),
            (vec![("nonce", json!(["nonce-1"]))], Err(TokenFault::Nonce)),
            (vec![("nonce", Value::Null)], Err(TokenFault::Nonce)),
        ] {
            assert_eq!(check_claims(&claims(&changed), EXPECTED), expected, "{changed:?}");
        }
    }

    #[test]
    fn a_secret_that_both_know_signs_nothing_even_if_it_is_listed_as_a_key() {
        let listed = json!({"keys": [{"kty": "oct", "kid": "k", "alg": "HS256", "k": "c2VjcmV0"}]});
        let keys = JsonWebKeys::read(&listed).expect("a key set");
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some("k".to_owned());
        let token = jsonwebtoken::encode(&header, &claims(&[]), &EncodingKey::from_secret(b"secret"));
        assert_eq!(verify(&token.expect("a token"), &keys, EXPECTED), Err(TokenFault::Algorithm));
        for nonsense in ["", "a.b.c", "..", "eyJhbGciOiJub25lIn0.e30."] {
            assert_eq!(verify(nonsense, &keys, EXPECTED), Err(TokenFault::Algorithm), "{nonsense}");
        }
    }
}
