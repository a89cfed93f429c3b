//! Identifies the caller from an `Authorization` header. Permissions are read from the database for each request, so that
//! a removed role, a revoked token or an ended session takes effect at once.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use windlass_api::permission::Permission;
use windlass_control::caller::{Caller, Credential, Identity, current_role};
use windlass_control::clock::now;
use windlass_control::secret::{TOKEN_PREFIX, hash_of_secret};
use windlass_core::id::{AccountId, SessionId, UserId};
use windlass_core::inbound::address::AddressBlock;
use windlass_core::redacted::Redacted;
use windlass_core::time::Timestamp;
use windlass_store::{Reading, StoreError};

use crate::state::Server;

/// The audience of session tokens. The server rejects a token with any other audience.
const AUDIENCE: &str = "windlass";

/// The server stores the last use of a token at most this often.
const LAST_USED_INTERVAL: Duration = Duration::from_secs(60);

/// Why the caller could not be identified.
#[derive(Debug)]
pub(crate) enum AuthError {
    /// There is no token.
    Missing,
    /// The token is not valid.
    Invalid,
    /// The token is not valid, and the address block sent too many of those; it must wait this long. Valid tokens are
    /// accepted regardless.
    TooMany(Duration),
    /// The database failed.
    Store(StoreError),
}

impl From<StoreError> for AuthError {
    fn from(error: StoreError) -> AuthError {
        AuthError::Store(error)
    }
}

#[derive(Serialize, Deserialize)]
struct SessionClaims {
    aud: String,
    sub: UserId,
    sid: SessionId,
    iat: i64,
    exp: i64,
}

/// A signed token for a session.
pub(super) fn sign_session(
    server: &Server,
    user_id: &UserId,
    session_id: &SessionId,
    expires_at: Timestamp,
) -> Option<Redacted<String>> {
    let claims = SessionClaims {
        aud: AUDIENCE.to_owned(),
        sub: user_id.clone(),
        sid: session_id.clone(),
        iat: now().as_millis() / 1000,
        exp: expires_at.as_millis() / 1000,
    };
    let key = EncodingKey::from_secret(server.keys().signing_key());
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key).ok().map(Redacted::new)
}

/// Identifies the caller. A header can identify only people, not agents.
pub(crate) async fn identify(
    server: &Server,
    authorization: Option<&str>,
    address: String,
    request_id: String,
) -> Result<Caller, AuthError> {
    identify_person(server, authorization, address, request_id).await.map(Caller::Person)
}

/// Identifies the person who sent a request.
pub(crate) async fn identify_person(
    server: &Server,
    authorization: Option<&str>,
    address: String,
    request_id: String,
) -> Result<Identity, AuthError> {
    let header = authorization.ok_or(AuthError::Missing)?;
    let (scheme, secret) = header.split_once(' ').ok_or(AuthError::Invalid)?;
    let secret = secret.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || secret.is_empty() {
        return Err(AuthError::Invalid);
    }
    let mut reading = server.store().read().await?;
    let found = match secret.starts_with(TOKEN_PREFIX) {
        true => by_token(server, &mut reading, secret).await,
        false => by_session(server, &mut reading, secret).await,
    };
    let mut identity = found.map_err(|error| limit_guesses(server, error, &address))?;
    identity.address = address;
    identity.request_id = request_id;
    Ok(identity)
}

/// Limits how many invalid tokens an address block may send.
fn limit_guesses(server: &Server, error: AuthError, address: &str) -> AuthError {
    let AuthError::Invalid = error else { return error };
    let block = AddressBlock::of_text(address).to_string();
    match server.rate_limits().invalid_tokens.take(&block, Instant::now()) {
        Ok(()) => AuthError::Invalid,
        Err(wait) => AuthError::TooMany(wait),
    }
}

async fn by_session(server: &Server, reading: &mut Reading, secret: &str) -> Result<Identity, AuthError> {
    let mut validation = Validation::new(Algorithm::HS256);
    validation.set_audience(&[AUDIENCE]);
    validation.set_required_spec_claims(&["exp", "aud", "sub"]);
    validation.leeway = 0;
    let read = |key: &[u8]| {
        let key = DecodingKey::from_secret(key);
        jsonwebtoken::decode::<SessionClaims>(secret, &key, &validation).ok()
    };
    let claims = server.keys().accepted_keys(now()).find_map(read).ok_or(AuthError::Invalid)?.claims;
    let session = reading.session(&claims.sid, now()).await?.ok_or(AuthError::Invalid)?;
    if session.user_id != claims.sub {
        return Err(AuthError::Invalid);
    }
    let credential = Credential::Session { id: session.id };
    member(reading, &session.account_id, &session.user_id, credential).await
}

async fn by_token(server: &Server, reading: &mut Reading, secret: &str) -> Result<Identity, AuthError> {
    let token = reading.token_by_hash(&hash_of_secret(secret)).await?.ok_or(AuthError::Invalid)?;
    let now = now();
    if token.revoked_at.is_some() || token.expires_at.is_some_and(|expires| expires <= now) {
        return Err(AuthError::Invalid);
    }
    let credential = Credential::Token { id: token.id.clone(), name: token.name };
    let mut identity = member(reading, &token.account_id, &token.created_by, credential).await?;
    let granted: BTreeSet<Permission> =
        token.permissions.iter().filter_map(|slug| Permission::from_slug(slug)).collect();
    identity.permissions.retain(|permission| granted.contains(permission));
    identity.is_root = false;
    identity.must_change_password = false;
    if token.last_used_at.is_none_or(|used| now.elapsed_since(used) > LAST_USED_INTERVAL) {
        let mut writing = server.store().write().await?;
        writing.token_record_use(&token.id, now).await?;
        writing.commit().await?;
    }
    Ok(identity)
}

/// A person in an account, with their current role.
async fn member(
    reading: &mut Reading,
    account_id: &AccountId,
    user_id: &UserId,
    credential: Credential,
) -> Result<Identity, AuthError> {
    let member = reading.member(account_id, user_id.as_str()).await?.ok_or(AuthError::Invalid)?;
    let account = reading.account(account_id.as_str()).await?.ok_or(AuthError::Invalid)?;
    let role = current_role(&member, now()).ok_or(AuthError::Invalid)?;
    Ok(Identity {
        account_id: account.id,
        account_name: account.name,
        user_id: member.user.id,
        email: member.user.email,
        role,
        permissions: role.permissions(),
        credential,
        is_root: member.user.is_root,
        must_change_password: member.user.must_change_password,
        address: String::new(),
        request_id: String::new(),
    })
}
