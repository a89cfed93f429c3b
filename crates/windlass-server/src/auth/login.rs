//! Signing in with a password. The core decides how often someone may try.

use serde_json::json;
use windlass_control::caller::SESSION_LIFETIME;
use windlass_control::clock::now;
use windlass_control::password::verify_password;
use windlass_control::{metrics, record};
use windlass_core::id::{AccountId, UserId};
use windlass_core::inbound::address::AddressBlock;
use windlass_core::redacted::Redacted;
use windlass_core::time::Timestamp;
use windlass_oidc::settings::PasswordPolicy;
use windlass_store::{Actor, AuditEntry, Outcome, Session, StoreError, User, new_id};

use crate::auth::device::{read_device, sign_device};
use crate::auth::error::LoginError;
use crate::auth::identity::sign_session;
use crate::auth::throttle::{AttemptCount, SignInAttempt, check_sign_in_allowed, count_sign_in};
use crate::state::Server;

/// A request to sign in with a password.
pub(crate) struct PasswordSignIn<'s> {
    pub(crate) email: &'s str,
    pub(crate) password: Redacted<String>,
    /// The account they named, by id or name.
    pub(crate) account: Option<&'s str>,
    /// Their network address.
    pub(crate) address: &'s str,
    /// The device text that the browser kept from an earlier sign-in.
    pub(crate) device: Option<&'s str>,
    pub(crate) request_id: &'s str,
}

/// A session that has begun.
pub(crate) struct NewSession {
    pub(crate) token: Redacted<String>,
    pub(crate) expires_at: Timestamp,
    /// The device text that the browser keeps for the next sign-in.
    pub(crate) device: Option<Redacted<String>>,
}

/// Signs someone in.
pub(crate) async fn login(server: &Server, request: PasswordSignIn<'_>) -> Result<NewSession, LoginError> {
    let PasswordSignIn { email, password, account, address, device, request_id } = request;
    let block = AddressBlock::of_text(address);
    let mut reading = server.store().read().await?;
    let user = reading.user(email.trim()).await?.filter(|user| user.email == email.trim().to_lowercase());
    let nobody = UserId::new("");
    let user_id = user.as_ref().map_or(&nobody, |user| &user.id);
    let device = device.and_then(|text| read_device(server, text, user_id));
    let attempt = SignInAttempt { email, user_id, block, device: device.as_ref() };
    let delay = check_sign_in_allowed(&mut reading, &attempt).await.inspect_err(count_throttled)?;
    // The queries are the same whether or not the person exists, so that the response time does not reveal it.
    let memberships = reading.memberships(user_id).await?;
    drop(reading);
    tokio::time::sleep(delay).await;
    let permit = server.password_permits().take(block).await?;
    let counted = count_sign_in(server, &attempt).await.inspect_err(count_throttled)?;
    let passwords = server.oidc().map(|oidc| oidc.settings().passwords).unwrap_or_default();
    let may_use_password = |user: &&User| {
        let is_allowed = passwords == PasswordPolicy::Everyone || user.is_root;
        user.disabled_at.is_none() && is_allowed && !user.password_hash.expose().is_empty()
    };
    let hash = user.as_ref().filter(may_use_password).map(|user| user.password_hash.clone());
    let is_right = verify_password(password, hash).await;
    let chosen = memberships
        .into_iter()
        .find(|(id, name, _)| account.is_none_or(|wanted| wanted == id.as_str() || wanted == name));
    let actor = Actor {
        name: email.trim().chars().take(200).collect(),
        id: user.as_ref().map(|user| user.id.clone()),
        token_id: None,
        address: Some(address.to_owned()),
        request_id: Some(request_id.to_owned()),
    };
    let (Some(user), Some((account_id, _, _)), true) = (&user, chosen, is_right) else {
        record_failure(server, actor).await?;
        return Err(match passwords {
            PasswordPolicy::Everyone => LoginError::Refused,
            PasswordPolicy::RootOnly => LoginError::RefusedHere,
        });
    };
    drop(permit);
    let authenticated = AuthenticatedUser { user, account_id: &account_id, actor: &actor, by: "password" };
    let signed_in = begin_session(server, &authenticated, &counted).await?;
    let signed_in = signed_in.ok_or(LoginError::Refused)?;
    Ok(NewSession { device: sign_device(server, &user.id, device), ..signed_in })
}

/// A person who has proved who they are.
pub(super) struct AuthenticatedUser<'p> {
    pub(super) user: &'p User,
    pub(super) account_id: &'p AccountId,
    pub(super) actor: &'p Actor,
    /// The method: `password` or `sso`.
    pub(super) by: &'static str,
}

/// Begins a session, undoes the count of this attempt, and records the address block as known.
pub(super) async fn begin_session(
    server: &Server,
    authenticated: &AuthenticatedUser<'_>,
    counted: &AttemptCount,
) -> Result<Option<NewSession>, StoreError> {
    let AuthenticatedUser { user, account_id, actor, by } = authenticated;
    let now = now();
    let session = Session {
        id: new_id(),
        user_id: user.id.clone(),
        account_id: (*account_id).clone(),
        address: actor.address.clone().unwrap_or_default(),
        created_at: now,
        expires_at: now.plus(SESSION_LIFETIME),
    };
    let mut writing = server.store().write_account(account_id).await?;
    counted.undo(&mut writing).await?;
    let block = AddressBlock::of_text(&session.address).to_string();
    writing.sign_in_place_record(&user.id, &block, now).await?;
    writing.session_add(&session).await?;
    writing.audit(record::audit_entry(actor, "auth.login", ("user", &user.email), json!({"by": by}), now));
    server.commit(writing).await?;
    metrics::sign_in(by, metrics::MetricOutcome::Done);
    let token = sign_session(server, &user.id, &session.id, session.expires_at);
    let device = sign_device(server, &user.id, None);
    Ok(token.map(|token| NewSession { token, expires_at: session.expires_at, device }))
}

fn count_throttled(error: &LoginError) {
    if let LoginError::Throttled(_) = error {
        metrics::sign_in("password", metrics::MetricOutcome::Throttled);
    }
}

async fn record_failure(server: &Server, actor: Actor) -> Result<(), StoreError> {
    metrics::sign_in("password", metrics::MetricOutcome::Refused);
    let mut writing = server.store().write_account(&AccountId::installation()).await?;
    let target = actor.name.clone();
    writing.audit(AuditEntry {
        outcome: Outcome::Refused,
        ..record::audit_entry(&actor, "auth.login", ("user", &target), json!({}), now())
    });
    server.commit(writing).await
}
