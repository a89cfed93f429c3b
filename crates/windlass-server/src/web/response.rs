//! Sends pages with their security headers, and renders errors as pages.

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use windlass_web::Html;
use windlass_web::frame::{Notice, Theme};
use windlass_web::pages::sign_in::ErrorPage;

use crate::http::error::{ErrorResponse, default_error};
use crate::http::guard::RequestId;
use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::{BrowserRequest, write_notice};
use crate::web::cookies::Cookie;

/// The content security policy: a page may load from and send forms to this server only, and has no inline scripts or styles.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// How long the browser keeps a notice that no page has shown.
const NOTICE_SECONDS: u64 = 60;

/// A page for a signed-in person. It deletes the notice that it shows, so that no other page shows it.
pub(super) fn page(visit: &BrowserRequest, page: &impl Html) -> HandlerResult {
    let mut response = html(StatusCode::OK, page);
    if visit.notice.is_some() {
        set_cookie(&mut response, Cookie::Notice.set("", 0, visit.scheme));
    }
    Ok(response)
}

/// A page as a response.
pub(super) fn html(status: StatusCode, page: &impl Html) -> Response {
    let mut response = (status, page.html()).into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("content-security-policy", POLICY),
        // Not `no-referrer`: browsers would then send `Origin: null` with a form, which the server rejects.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Redirects to another page, as after a form.
pub(super) fn redirect(to: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    if let Ok(value) = HeaderValue::from_str(to) {
        response.headers_mut().insert(header::LOCATION, value);
    }
    response
}

/// Redirects to another page, which shows the notice.
pub(super) fn redirect_with_notice(
    server: &Server,
    visit: &BrowserRequest,
    to: &str,
    notice: &Notice,
) -> HandlerResult {
    let mut response = redirect(to);
    let value = write_notice(server, &visit.binding, notice);
    set_cookie(&mut response, Cookie::Notice.set(&value, NOTICE_SECONDS, visit.scheme));
    Ok(response)
}

pub(super) fn set_cookie(response: &mut Response, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// The theme of the browser, for error pages.
#[derive(Clone, Copy)]
pub(super) struct ErrorTheme(pub(super) Theme);

/// Renders an error as a page.
pub(super) async fn render_error_page(request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    let mut response = next.run(request).await;
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let is_page = response.headers().contains_key("content-security-policy");
    let own = response.extensions_mut().remove::<ErrorResponse>();
    if is_page && own.is_none() {
        return response;
    }
    let mut error = own.map_or_else(|| default_error(status), |own| own.error);
    error.request_id = id;
    let theme = response.extensions().get::<ErrorTheme>().map(|theme| theme.0).unwrap_or_default();
    let (parts, _) = response.into_parts();
    let mut rendered = html(status, &ErrorPage { theme, status: status.as_u16(), error });
    for name in [header::RETRY_AFTER, header::SET_COOKIE, header::ALLOW] {
        for value in parts.headers.get_all(&name) {
            rendered.headers_mut().append(&name, value.clone());
        }
    }
    *rendered.extensions_mut() = parts.extensions;
    rendered
}
