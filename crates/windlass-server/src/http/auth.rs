//! Signing in and out.

use axum::Extension;
use axum::extract::State;
use serde_json::json;
use windlass_api::types::{LoginBody, Me, PasswordBody, Session};
use windlass_control::caller::{Credential, Identity};
use windlass_control::clock::now;
use windlass_control::password::{check_strength, hash_password, verify_password};
use windlass_control::record;
use windlass_control::refusal::Refusal;
use windlass_core::id::SessionId;
use windlass_core::inbound::address::AddressBlock;
use windlass_core::redacted::Redacted;
use windlass_store::StoreError;

use crate::auth::error::LoginError;
use crate::auth::identity::identify_person;
use crate::auth::login::{self, PasswordSignIn};
use crate::auth::throttle::count_session_attempt;
use crate::http::guard::RequestId;
use crate::http::origin::ClientOrigin;
use crate::http::request::{HandlerResult, JsonBody, json_ok, no_content};
use crate::state::Server;

pub(crate) async fn login(
    State(server): State<Server>,
    Extension(RequestId(request_id)): Extension<RequestId>,
    Extension(ClientOrigin { address, .. }): Extension<ClientOrigin>,
    JsonBody(body): JsonBody<LoginBody>,
) -> HandlerResult {
    let request = PasswordSignIn {
        email: &body.email,
        password: Redacted::new(body.password),
        account: body.account.as_deref(),
        address: &address,
        // The API ignores cookies.
        device: None,
        request_id: &request_id,
    };
    let signed_in = login::login(&server, request).await?;
    let header = format!("Bearer {}", signed_in.token.expose());
    let identity = identify_person(&server, Some(&header), address, request_id).await?;
    let me = load_me(&server, &identity).await?;
    json_ok(&Session {
        token: signed_in.token.expose().clone(),
        expires_at: signed_in.expires_at.to_string(),
        me,
    })
}

pub(crate) async fn logout(State(server): State<Server>, who: Identity) -> HandlerResult {
    end_session(&server, &who).await?;
    no_content()
}

/// Ends the session of the caller.
pub(crate) async fn end_session(server: &Server, who: &Identity) -> Result<(), Refusal> {
    if let Credential::Session { id: session } = &who.credential {
        let mut writing = server.store().write_account(&who.account_id).await?;
        writing.session_end(session).await?;
        writing.audit(record::audit_entry(
            &who.actor(),
            "auth.logout",
            ("user", &who.email),
            json!({}),
            now(),
        ));
        server.commit(writing).await?;
    }
    Ok(())
}

pub(crate) async fn me(State(server): State<Server>, who: Identity) -> HandlerResult {
    json_ok(&load_me(&server, &who).await?)
}

/// The caller's identity and permissions.
pub(crate) async fn load_me(server: &Server, who: &Identity) -> Result<Me, StoreError> {
    let memberships = server.store().read().await?.memberships(&who.user_id).await?;
    Ok(Me {
        user_id: who.user_id.to_string(),
        email: who.email.clone(),
        account_id: who.account_id.to_string(),
        account_name: who.account_name.clone(),
        role: who.role,
        permissions: who.permissions.iter().copied().collect(),
        token_name: who.credential.token_name().map(str::to_owned),
        is_root: who.is_root,
        must_change_password: who.must_change_password,
        accounts: memberships
            .into_iter()
            .map(|(_, name, _)| name)
            .filter(|name| *name != who.account_name)
            .collect(),
    })
}

pub(crate) async fn password(
    State(server): State<Server>,
    who: Identity,
    JsonBody(body): JsonBody<PasswordBody>,
) -> HandlerResult {
    change_password(&server, &who, body).await?;
    no_content()
}

/// Changes the caller's own password, which ends all their sessions.
pub(crate) async fn change_password(
    server: &Server,
    who: &Identity,
    body: PasswordBody,
) -> Result<(), Refusal> {
    let user =
        server.store().read().await?.user(who.user_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    if user.password_hash.expose().is_empty() {
        let message = "you sign in through single sign-on and have no password here";
        return Err(Refusal::unprocessable("sso", message, "change it at your single sign-on provider"));
    }
    // Someone who stole a session must not be able to guess the password.
    // A caller with a token has no session, so their own id is counted instead.
    let session_id = who.credential.session_id().cloned();
    let session_id = session_id.unwrap_or_else(|| SessionId::new(who.user_id.as_str()));
    let counted = count_session_attempt(server, &session_id).await?;
    let permit = server.password_permits().take(AddressBlock::of_text(&who.address)).await;
    let permit = permit.map_err(LoginError::from)?;
    let current = Redacted::new(body.current_password);
    if !verify_password(current, Some(user.password_hash)).await {
        return Err(Refusal::unprocessable("wrong-password", "the current password is wrong", ""));
    }
    check_strength(&body.new_password, &who.email)
        .map_err(|why| Refusal::unprocessable("weak-password", why, "a few random words make a good one"))?;
    let hash = hash_password(Redacted::new(body.new_password)).await;
    let hash =
        hash.ok_or_else(|| Refusal::unprocessable("password", "the password is not acceptable", ""))?;
    drop(permit);
    let mut writing = server.store().write_account(&who.account_id).await?;
    counted.undo(&mut writing).await?;
    writing.user_set_password(&who.user_id, &hash, false).await?;
    writing.audit(record::audit_entry(&who.actor(), "auth.password", ("user", &who.email), json!({}), now()));
    server.commit(writing).await?;
    Ok(())
}
