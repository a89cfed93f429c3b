//! Signing in through the provider: the redirect to it, and the callback from it.
//!
//! The sign-in attempt is in a cookie that the callback deletes, whatever the result. The callback is a navigation from
//! another site, so browsers would not send the new session cookie with a redirect. The callback therefore ends with a page
//! of this server that leads to the next one.

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use windlass_control::clock::now;
use windlass_control::refusal::Refusal;
use windlass_oidc::Oidc;
use windlass_oidc::attempt::{ATTEMPT_SECONDS, SignInAttempt};
use windlass_oidc::claims::ProviderIdentity;
use windlass_oidc::error::OidcError;
use windlass_web::pages::sign_in::RedirectPage;

use crate::auth::login::NewSession;
use crate::auth::sso::{SsoRequest, record_refusal, sign_in_with_provider};
use crate::auth::throttle::count_provider_answer;
use crate::http::error::{refusal_of_provider, status_of};
use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::browser_request::{BrowserRequest, local_path};
use crate::web::cookies::Cookie;
use crate::web::response::{html, redirect, set_cookie};
use crate::web::sign_in::{SignInState, set_session_cookies, sign_in_page};

/// The longest address to return to: a longer one would not fit into the cookie.
const MAX_NEXT: usize = 1000;

/// A longer text cannot be the name of an account.
const MAX_ACCOUNT: usize = 200;

#[derive(Deserialize)]
pub(super) struct BeginQuery {
    next: Option<String>,
    account: Option<String>,
}

pub(super) async fn begin_sign_in(
    State(server): State<Server>,
    visit: BrowserRequest,
    QueryParams(query): QueryParams<BeginQuery>,
) -> HandlerResult {
    let oidc = server.oidc().ok_or_else(Refusal::not_found)?;
    let next =
        query.next.as_deref().and_then(local_path).filter(|next| next.len() <= MAX_NEXT).unwrap_or("/app");
    let account = query.account.as_deref().filter(|name| !name.is_empty() && name.len() <= MAX_ACCOUNT);
    match oidc.begin(server.keys().signing_key(), next, account, now()).await {
        Ok((url, cookie)) => {
            let mut response = redirect(url.as_str());
            set_cookie(&mut response, Cookie::Attempt.set(&cookie, ATTEMPT_SECONDS, visit.scheme));
            Ok(response)
        }
        Err(error) => {
            tracing::warn!(%error, "could not start a single sign-on");
            Ok(refused(&server, visit, next, refusal_of_provider(&error)))
        }
    }
}

pub(super) async fn end_sign_in(
    State(server): State<Server>,
    visit: BrowserRequest,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> HandlerResult {
    let oidc = server.oidc().ok_or_else(Refusal::not_found)?;
    let scheme = visit.scheme;
    let cookie = Cookie::Attempt.read(&headers, scheme);
    let attempt = oidc.open_attempt(cookie, server.keys().accepted_keys(now()));
    let next =
        attempt.as_ref().ok().and_then(|attempt| local_path(&attempt.next)).unwrap_or("/app").to_owned();
    let result = complete_sign_in(&server, oidc, &visit, attempt, query.as_deref().unwrap_or_default()).await;
    let mut response = match result {
        Ok(signed_in) => {
            let mut response = html(StatusCode::OK, &RedirectPage { to: next });
            set_session_cookies(&mut response, &signed_in, scheme);
            response
        }
        Err(error) => refused(&server, visit, &next, error),
    };
    set_cookie(&mut response, Cookie::Attempt.set("", 0, scheme));
    Ok(response)
}

async fn complete_sign_in(
    server: &Server,
    oidc: &Oidc,
    visit: &BrowserRequest,
    attempt: Result<SignInAttempt, OidcError>,
    query: &str,
) -> Result<NewSession, Refusal> {
    let counted = count_provider_answer(server, &visit.address).await?;
    let account = attempt.as_ref().ok().and_then(|attempt| attempt.account.clone());
    let request =
        SsoRequest { account: account.as_deref(), address: &visit.address, request_id: &visit.request_id };
    let mut who = None;
    let result = match identify(oidc, attempt, query).await {
        Ok(identity) => {
            let result = sign_in_with_provider(server, oidc, &identity, &request, &counted).await;
            who = Some(identity);
            result.map_err(Refusal::from)
        }
        Err(error) => {
            tracing::warn!(%error, address = visit.address, "refused a single sign-on");
            Err(refusal_of_provider(&error))
        }
    };
    if let Err(error) = &result {
        record_refusal(server, who.as_ref(), error.code(), &request).await?;
    }
    result
}

async fn identify(
    oidc: &Oidc,
    attempt: Result<SignInAttempt, OidcError>,
    query: &str,
) -> Result<ProviderIdentity, OidcError> {
    let attempt = attempt?;
    let answer = windlass_oidc::CallbackQuery::read(query).ok_or(OidcError::State)?;
    oidc.finish(&attempt, &answer).await
}

/// The sign-in page, with the error.
fn refused(server: &Server, visit: BrowserRequest, next: &str, error: Refusal) -> Response {
    let status = status_of(&error);
    sign_in_page(
        server,
        visit,
        status,
        SignInState { next, problem: Some(error.into_body()), ..SignInState::default() },
    )
}
