//! Signing in and out, changing the password, assets, and addresses without a page.

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use windlass_api::types::{ErrorBody, PasswordBody};
use windlass_control::caller::Identity;
use windlass_control::clock::now;
use windlass_control::refusal::{Refusal, RefusalKind};
use windlass_core::inbound::forwarded::HttpScheme;
use windlass_core::redacted::Redacted;
use windlass_oidc::settings::PasswordPolicy;
use windlass_store::unique_text;
use windlass_web::assets;
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::sign_in::{PasswordForm, PasswordPage, SignInPage, Sso};

use crate::auth::device::DEVICE;
use crate::auth::login::{NewSession, PasswordSignIn, login};
use crate::http::auth::{change_password, end_session};
use crate::http::error::{HttpError, status_of};
use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::address::address;
use crate::web::browser_request::{BrowserRequest, local_path};
use crate::web::cookies::Cookie;
use crate::web::form::FormFields;
use crate::web::frame;
use crate::web::response::{html, page, redirect, redirect_with_notice, set_cookie};

/// How long a sign-in form is valid.
const VISIT_SECONDS: u64 = 24 * 3600;

pub(super) async fn root() -> Response {
    redirect("/app")
}

pub(super) async fn not_found() -> HttpError {
    HttpError(Refusal::not_found())
}

pub(super) async fn wrong_method() -> HttpError {
    HttpError(Refusal::new(RefusalKind::WrongMethod, "method-not-allowed", "method not allowed", ""))
}

/// An asset. Its address changes with its content, so browsers may cache it forever.
pub(super) async fn asset(Path(name): Path<String>) -> HandlerResult {
    let asset = assets::find(&name).ok_or_else(Refusal::not_found)?;
    let mut response = asset.bytes.into_response();
    for (name, value) in [
        (header::CONTENT_TYPE, asset.media_type),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

#[derive(Deserialize)]
pub(super) struct NextQuery {
    next: Option<String>,
    account: Option<String>,
    /// Whether to show the password form although people sign in through single sign-on.
    password: Option<String>,
}

/// What the sign-in page shows.
#[derive(Default)]
pub(super) struct SignInState<'s> {
    pub(super) next: &'s str,
    pub(super) email: &'s str,
    pub(super) account: &'s str,
    pub(super) with_password: bool,
    pub(super) problem: Option<ErrorBody>,
}

/// The sign-in page. A browser on its first visit gets a cookie to which the form is bound.
pub(super) fn sign_in_page(
    server: &Server,
    mut visit: BrowserRequest,
    status: StatusCode,
    shown: SignInState<'_>,
) -> Response {
    let is_new = visit.binding.is_empty();
    if is_new {
        visit.binding = unique_text();
    }
    let words = [("next", shown.next), ("account", shown.account)];
    let sso = server
        .oidc()
        .map(|oidc| Sso { name: oidc.settings().name.clone(), href: address("/app/sign-in/oidc", &words) });
    let is_for_root = server.oidc().is_some_and(|oidc| oidc.settings().passwords == PasswordPolicy::RootOnly);
    let form = match is_for_root && !shown.with_password {
        true => PasswordForm::AtUrl(address("/app/sign-in", &[words[0], words[1], ("password", "yes")])),
        false => PasswordForm::Shown,
    };
    let page = SignInPage {
        theme: visit.theme,
        csrf: visit.csrf(server),
        next: shown.next.to_owned(),
        email: shown.email.to_owned(),
        account: shown.account.to_owned(),
        problem: shown.problem,
        sso,
        form,
    };
    let mut response = html(status, &page);
    if is_new {
        set_cookie(&mut response, Cookie::Visit.set(&visit.binding, VISIT_SECONDS, visit.scheme));
    }
    response
}

pub(super) async fn sign_in_form(
    State(server): State<Server>,
    visit: BrowserRequest,
    QueryParams(query): QueryParams<NextQuery>,
) -> HandlerResult {
    let shown = SignInState {
        next: query.next.as_deref().and_then(local_path).unwrap_or("/app"),
        account: query.account.as_deref().unwrap_or_default(),
        with_password: query.password.is_some(),
        ..SignInState::default()
    };
    Ok(sign_in_page(&server, visit, StatusCode::OK, shown))
}

pub(super) async fn sign_in(
    State(server): State<Server>,
    visit: BrowserRequest,
    form: FormFields,
) -> HandlerResult {
    let (email, account) = (form.text("email"), form.non_empty_text("account"));
    let password = Redacted::new(form.text("password").to_owned());
    let next = local_path(form.text("next")).unwrap_or("/app");
    let request = PasswordSignIn {
        email,
        password,
        account,
        address: &visit.address,
        device: visit.device.as_deref(),
        request_id: &visit.request_id,
    };
    match login(&server, request).await {
        Ok(signed_in) => {
            let mut response = redirect(next);
            set_session_cookies(&mut response, &signed_in, visit.scheme);
            Ok(response)
        }
        Err(error) => {
            let error = Refusal::from(error);
            if status_of(&error).is_server_error() {
                return Err(error.into());
            }
            let status = status_of(&error);
            let shown = SignInState {
                next,
                email,
                account: account.unwrap_or_default(),
                with_password: true,
                problem: Some(error.into_body()),
            };
            // 401 would make some browsers show their own password dialog.
            let status = if status == StatusCode::UNAUTHORIZED { StatusCode::FORBIDDEN } else { status };
            Ok(sign_in_page(&server, visit, status, shown))
        }
    }
}

/// Sets the session cookie, and the device cookie for the next sign-in.
pub(super) fn set_session_cookies(response: &mut Response, signed_in: &NewSession, scheme: HttpScheme) {
    let seconds = signed_in.expires_at.elapsed_since(now()).as_secs();
    set_cookie(response, Cookie::Session.set(signed_in.token.expose(), seconds, scheme));
    set_cookie(response, Cookie::Visit.set("", 0, scheme));
    if let Some(device) = &signed_in.device {
        set_cookie(response, Cookie::Device.set(device.expose(), DEVICE.as_secs(), scheme));
    }
}

pub(super) async fn sign_out(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    end_session(&server, &who).await?;
    let mut response = redirect("/app/sign-in");
    set_cookie(&mut response, Cookie::Session.set("", 0, visit.scheme));
    Ok(response)
}

pub(super) async fn password_form(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Elsewhere).await?;
    drop(reading);
    page(&visit, &PasswordPage { frame, problem: None })
}

pub(super) async fn password(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    form: FormFields,
) -> HandlerResult {
    let new = form.text("new_password");
    let body = PasswordBody {
        current_password: form.text("current_password").to_owned(),
        new_password: new.to_owned(),
    };
    let changed = match new == form.text("again") {
        true => change_password(&server, &who, body).await,
        false => Err(Refusal::unprocessable("differs", "the new passwords do not match", "type it again")),
    };
    if let Err(error) = changed {
        return password_again(&server, &who, &visit, error).await;
    }
    // The change ended this session too, so sign in again with the new password.
    let request = PasswordSignIn {
        email: &who.email,
        password: Redacted::new(new.to_owned()),
        account: Some(who.account_id.as_str()),
        address: &visit.address,
        device: visit.device.as_deref(),
        request_id: &visit.request_id,
    };
    let signed_in = login(&server, request).await?;
    let mut response =
        redirect_with_notice(&server, &visit, "/app", &Notice::new(Tone::Good, "Password changed"))?;
    set_session_cookies(&mut response, &signed_in, visit.scheme);
    Ok(response)
}

async fn password_again(
    server: &Server,
    who: &Identity,
    visit: &BrowserRequest,
    error: Refusal,
) -> HandlerResult {
    let status = status_of(&error);
    if status.is_server_error() {
        return Err(error.into());
    }
    let problem: Option<ErrorBody> = Some(error.into_body());
    let mut reading = server.store().read().await?;
    let frame = frame::load(server, &mut reading, who, visit, NavEntry::Elsewhere).await?;
    drop(reading);
    Ok(html(status, &PasswordPage { frame, problem }))
}
