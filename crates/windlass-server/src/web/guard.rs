//! Passes a request to a page only if the page table allows it, and a form only if a page of this server sent it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use windlass_api::endpoint::Access;
use windlass_control::admission::admit_person;
use windlass_control::caller::{Caller, Identity};
use windlass_control::refusal::{Refusal, RefusalKind};
use windlass_core::id::SessionId;
use windlass_core::inbound::forwarded::HttpScheme;
use windlass_web::pages::sign_in::RedirectPage;
use windlass_web::table::{Page, PageEntry, pages};

use crate::auth::identity::{AuthError, identify};
use crate::http::body::read_whole;
use crate::http::error::{HttpError, status_of};
use crate::http::guard::{
    AccessRequest, LoggedCaller, RequestId, Route, attach_identity, has_nul, record_refusal,
};
use crate::http::origin::scheme_of;
use crate::state::Server;
use crate::web::address::address;
use crate::web::browser_request::{
    BrowserRequest, is_bound, is_from_elsewhere, is_from_here, path_and_query_of, read_notice, theme_of,
};
use crate::web::cookies::Cookie;
use crate::web::form::FormFields;
use crate::web::response::{ErrorTheme, html, redirect, set_cookie};

static TABLE: LazyLock<BTreeMap<(&'static str, &'static str), PageEntry>> =
    LazyLock::new(|| pages().into_iter().map(|entry| ((entry.method.as_str(), entry.path), entry)).collect());

/// The pages that someone with a one-time password may use.
const BEFORE_OWN_PASSWORD: [Page; 3] = [Page::PasswordForm, Page::Password, Page::SignOut];

/// Whether a request is allowed.
enum AccessDecision {
    /// It is allowed; with the caller, if the page is not public.
    Allowed(Option<Identity>, Box<BrowserRequest>),
    /// The server sends this response instead.
    Otherwise(Response),
}

pub(super) async fn authorize(State(server): State<Server>, request: Request, next: Next) -> Response {
    let route =
        request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned()).unwrap_or_default();
    let method = if request.method() == Method::HEAD { "GET" } else { request.method().as_str() };
    let entry =
        TABLE.iter().find(|((word, path), _)| *word == method && *path == route).map(|(_, entry)| entry);
    let scheme = scheme_of(&server, request.extensions());
    let theme = theme_of(request.headers(), scheme);
    let mut who = String::new();
    let mut response = match entry {
        // A page that is not in the table is open to nobody.
        None => HttpError(Refusal::not_found()).into_response(),
        Some(_) if has_nul(&request) => {
            let refusal = Refusal::bad_request("the address contains a NUL character", "remove it");
            HttpError(refusal).into_response()
        }
        Some(entry) => {
            let asking = PageRequest::of(scheme, &request);
            match check(&server, entry, asking).await {
                Ok(AccessDecision::Allowed(identity, visit)) => {
                    who = identity.as_ref().map(|identity| identity.email.clone()).unwrap_or_default();
                    let passed = admit(&server, request, next, identity, *visit).await;
                    passed.unwrap_or_else(|error| HttpError(error).into_response())
                }
                Ok(AccessDecision::Otherwise(response)) => response,
                Err(error) => HttpError(error).into_response(),
            }
        }
    };
    response.extensions_mut().insert(Route(route));
    response.extensions_mut().insert(LoggedCaller(who));
    response.extensions_mut().insert(ErrorTheme(theme));
    response
}

/// The parts of a request that decide whether it is allowed.
struct PageRequest {
    asked: AccessRequest,
    visit: BrowserRequest,
    headers: HeaderMap,
}

impl PageRequest {
    fn of(scheme: HttpScheme, request: &Request) -> PageRequest {
        let headers = request.headers();
        let request_id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
        let mut asked = AccessRequest::of(request, &request_id);
        // Pages are for people: a token in a header gives no access.
        asked.authorization = Cookie::Session.read(headers, scheme).map(|token| format!("Bearer {token}"));
        let visit = BrowserRequest {
            theme: theme_of(headers, scheme),
            binding: Cookie::Visit.read(headers, scheme).unwrap_or_default().to_owned(),
            notice: None,
            authorization: asked.authorization.clone(),
            device: Cookie::Device.read(headers, scheme).map(str::to_owned),
            seen: 0,
            here: path_and_query_of(request.uri()),
            scheme,
            address: asked.address.clone(),
            request_id,
        };
        PageRequest { asked, visit, headers: headers.clone() }
    }
}

async fn check(server: &Server, entry: &PageEntry, asking: PageRequest) -> Result<AccessDecision, Refusal> {
    let PageRequest { asked, mut visit, headers } = asking;
    if entry.access == Access::Public {
        return Ok(AccessDecision::Allowed(None, Box::new(visit)));
    }
    let found =
        identify(server, asked.authorization.as_deref(), asked.address.clone(), asked.request_id.clone());
    let caller = match found.await {
        Ok(caller) => Some(caller),
        Err(AuthError::Missing | AuthError::Invalid) => None,
        Err(error) => return Err(error.into()),
    };
    let Some((caller, (identity, session))) =
        caller.as_ref().and_then(|caller| Some((caller, session_of(caller)?)))
    else {
        return Ok(AccessDecision::Otherwise(redirect_to_sign_in(entry, &headers, &visit)));
    };
    if identity.must_change_password && !BEFORE_OWN_PASSWORD.contains(&entry.page) {
        return Ok(AccessDecision::Otherwise(redirect("/app/password")));
    }
    let identity = match admit_person(entry.access, caller) {
        Ok(identity) => identity,
        Err(error) => {
            if asked.changes_something() {
                record_refusal(server, caller, &asked, (status_of(&error), error.code())).await?;
            }
            return Err(error);
        }
    };
    visit.seen = server.store().read().await?.last_event(&identity.account_id).await?;
    visit.binding = session.to_string();
    visit.notice = Cookie::Notice
        .read(&headers, visit.scheme)
        .and_then(|value| read_notice(server, &visit.binding, value));
    Ok(AccessDecision::Allowed(Some(identity), Box::new(visit)))
}

/// The signed-in person, with their session. Only they may use pages.
fn session_of(caller: &Caller) -> Option<(&Identity, &SessionId)> {
    match caller {
        Caller::Person(identity) => Some((identity, identity.credential.session_id()?)),
        Caller::Agent(_) => None,
    }
}

/// The response to someone who is not signed in. If they followed a link on another site, the browser may have withheld the
/// session cookie, so a page of this server first loads the address again.
fn redirect_to_sign_in(entry: &PageEntry, headers: &HeaderMap, visit: &BrowserRequest) -> Response {
    let is_form = entry.method != windlass_api::endpoint::Method::Get;
    if entry.page == Page::Live {
        return HttpError::from(AuthError::Missing).into_response();
    }
    if !is_form && visit.authorization.is_none() && is_from_elsewhere(headers) {
        return html(StatusCode::OK, &RedirectPage { to: visit.here.clone() });
    }
    let next = if is_form { "/app" } else { visit.here.as_str() };
    let mut response = redirect(&address("/app/sign-in", &[("next", next)]));
    if visit.authorization.is_some() {
        set_cookie(&mut response, Cookie::Session.set("", 0, visit.scheme));
    }
    response
}

async fn admit(
    server: &Server,
    mut request: Request,
    next: Next,
    identity: Option<Identity>,
    visit: BrowserRequest,
) -> Result<Response, Refusal> {
    if request.method() == Method::POST {
        let asked = AccessRequest::of(&request, &visit.request_id);
        let is_from_here = is_from_here(request.headers(), server);
        let (parts, body) = request.into_parts();
        let form = FormFields::read(&read_whole(body).await?)?;
        if !is_from_here || visit.binding.is_empty() || !is_bound(server, &visit.binding, form.text("csrf")) {
            let error = forged_form();
            if let Some(identity) = identity {
                let caller = Caller::Person(identity);
                record_refusal(server, &caller, &asked, (status_of(&error), error.code())).await?;
            }
            return Err(error);
        }
        request = Request::from_parts(parts, axum::body::Body::empty());
        request.extensions_mut().insert(form);
    }
    if let Some(identity) = identity {
        attach_identity(&mut request, identity);
    }
    request.extensions_mut().insert(visit);
    Ok(next.run(request).await)
}

fn forged_form() -> Refusal {
    let help = "nothing was changed. Go back, reload the page and send the form again; if cookies are off, allow them \
                for this site";
    Refusal::new(RefusalKind::Forbidden, "foreign-form", "invalid or expired form", help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_is_for_agents() {
        for entry in pages() {
            assert_ne!(entry.access, Access::Agent, "{}", entry.path);
        }
    }
}
