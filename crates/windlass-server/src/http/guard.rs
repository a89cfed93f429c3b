//! The middleware of every request: it assigns an id, logs, records metrics, and checks permissions.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};
use windlass_api::endpoint::{Access, Operation, TOOLS_HEADER, endpoints};
use windlass_api::permission::Permission;
use windlass_control::admission::{AdmittedCaller, admit};
use windlass_control::caller::{Caller, Credential, Identity};
use windlass_control::clock::now;
use windlass_control::refusal::{AuditRecording, Refusal, RefusalKind};
use windlass_control::spans::SPANS;
use windlass_control::{metrics, record};
use windlass_core::inbound::forwarded::HttpScheme;
use windlass_store::{AuditEntry, Outcome, unique_text};

use crate::auth::identity::identify;
use crate::connections::exchange::ActiveRequest;
use crate::http::error::{ErrorResponse, HttpError, render_error, status_of};
use crate::http::origin;
use crate::http::request::header_text;
use crate::state::Server;
use crate::telemetry::{continue_trace, rename};

/// The rule of each route.
static RULES: LazyLock<BTreeMap<(&'static str, String), RouteRule>> = LazyLock::new(|| {
    endpoints()
        .into_iter()
        .map(|endpoint| {
            let rule = RouteRule { access: endpoint.access, operation: endpoint.operation };
            ((endpoint.method.as_str(), endpoint.path), rule)
        })
        .collect()
});

/// The entry of a route in the endpoint table.
#[derive(Clone, Copy)]
pub(crate) struct RouteRule {
    pub(crate) access: Access,
    pub(crate) operation: Operation,
}

/// The rule of a route. HEAD has the same rule as GET.
pub(crate) fn rule_of(method: &Method, route: &str) -> Option<RouteRule> {
    let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
    let method = ["GET", "POST", "PUT", "PATCH", "DELETE"].into_iter().find(|known| *known == method)?;
    RULES.get(&(method, route.to_owned())).copied()
}

/// The methods that metrics count by name.
const KNOWN_METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// The id of a request: the one that the caller sent if it has only harmless characters, else a new one.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(pub(crate) String);

/// Assigns the id of a request, measures it and logs it.
pub(crate) async fn trace_and_log(
    State(server): State<Server>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let id = header_text(request.headers(), "x-request-id")
        .filter(|id| {
            (1..=64).contains(&id.len())
                && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        })
        .map_or_else(unique_text, str::to_owned);
    let origin = origin::of(&server, &request);
    let address = origin.address.clone();
    request.extensions_mut().insert(RequestId(id.clone()));
    request.extensions_mut().insert(origin);
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let span = span_of(&request, &id);
    let mut response = next.run(request).instrument(span.clone()).await;
    let route =
        response.extensions().get::<Route>().map_or_else(|| "unmatched".to_owned(), |route| route.0.clone());
    note_answer(&span, &method, &route, response.status());
    let who = response.extensions().get::<LoggedCaller>().map(|who| who.0.clone()).unwrap_or_default();
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("x-request-id", value);
    }
    add_security_headers(&mut response, server.config().scheme());
    let status = response.status();
    let line = AccessLine {
        method: &method,
        path: &path,
        route: &route,
        status,
        id: &id,
        address: &address,
        who: &who,
    };
    line.log(begun.elapsed());
    response
}

/// The span of a request. It does not contain the query, which may be confidential.
fn span_of(request: &Request, id: &str) -> Span {
    let span = tracing::trace_span!(
        target: SPANS,
        "request",
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method_label(request.method()),
        http.route = Empty,
        http.response.status_code = Empty,
        windlass.request_id = id,
    );
    continue_trace(&span, request.headers());
    span
}

fn note_answer(span: &Span, method: &Method, route: &str, status: StatusCode) {
    if span.is_disabled() {
        return;
    }
    rename(span, format!("{} {route}", method_label(method)));
    span.record("http.route", route);
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}

/// Renders errors in the format of all errors.
pub(crate) async fn render_errors(request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    render_error(next.run(request).await, &id)
}

/// Adds headers that forbid browsers to run, embed or store a response, unless a handler set its own. A server that
/// terminates TLS itself also demands TLS for later requests.
fn add_security_headers(response: &mut Response, ours: HttpScheme) {
    let headers = response.headers_mut();
    if ours == HttpScheme::Https {
        headers.insert("strict-transport-security", HeaderValue::from_static("max-age=31536000"));
    }
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
        ("x-frame-options", "DENY"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("referrer-policy", "no-referrer"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// The fields of a line in the access log.
struct AccessLine<'l> {
    method: &'l Method,
    path: &'l str,
    route: &'l str,
    status: StatusCode,
    id: &'l str,
    address: &'l str,
    who: &'l str,
}

impl AccessLine<'_> {
    fn log(&self, took: Duration) {
        let AccessLine { method, path, route, status, id, address, who } = *self;
        metrics::request(method_label(method), route, status.as_u16(), took);
        let millis = took.as_secs_f64() * 1000.0;
        match status.is_server_error() {
            true => {
                tracing::error!(target: "access", %method, path, status = status.as_u16(), ms = millis, request = id, address, who);
            }
            false => {
                tracing::info!(target: "access", %method, path, status = status.as_u16(), ms = millis, request = id, address, who);
            }
        }
    }
}

/// The label of a method in metrics: an unknown method must not create a new series.
pub(crate) fn method_label(method: &Method) -> &'static str {
    match KNOWN_METHODS.iter().find(|known| *known == method) {
        Some(known) => known.as_str(),
        None => "other",
    }
}

/// The route that handled a request, for metrics.
#[derive(Clone)]
pub(crate) struct Route(pub(crate) String);

/// The caller, for the access log.
#[derive(Clone)]
pub(crate) struct LoggedCaller(pub(crate) String);

/// Passes a request to its handler only if the endpoint table allows it.
pub(crate) async fn authorize(State(server): State<Server>, mut request: Request, next: Next) -> Response {
    let route =
        request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned()).unwrap_or_default();
    let rule = rule_of(request.method(), &route);
    let request_id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    let mut who = String::new();
    let asked = AccessRequest::of(&request, &request_id);
    let checked = match rule {
        // A route that is not in the table is open to nobody.
        None => Err(Refusal::not_found()),
        Some(RouteRule { access: Access::Public, .. }) => Ok(AdmittedCaller::Anyone),
        Some(rule) => check(&server, &asked, rule).await,
    };
    let mut response = match checked {
        Ok(_) if has_nul(&request) => {
            let help = "remove it";
            HttpError(Refusal::bad_request("the address contains a NUL character", help)).into_response()
        }
        Ok(AdmittedCaller::Person(mut identity)) => {
            // Through MCP tools, only a token with that permission can approve, whatever the operation; a session cannot.
            let is_session = matches!(identity.credential, Credential::Session { .. });
            if request.headers().contains_key(TOOLS_HEADER) && is_session {
                identity.permissions.remove(&Permission::GitopsApprove);
            }
            who = identity.email.clone();
            attach_identity(&mut request, identity.clone());
            answer(&server, &Caller::Person(identity), &asked, next.run(request)).await
        }
        Ok(AdmittedCaller::Agent(agent)) => {
            who = agent.actor().name;
            request.extensions_mut().insert(agent.clone());
            answer(&server, &Caller::Agent(agent), &asked, next.run(request)).await
        }
        Ok(AdmittedCaller::Anyone) => next.run(request).await,
        Err(error) => HttpError(error).into_response(),
    };
    response.extensions_mut().insert(Route(route));
    response.extensions_mut().insert(LoggedCaller(who));
    response
}

/// The response to an admitted caller. If a handler refused a change, the audit log records it.
async fn answer(
    server: &Server,
    caller: &Caller,
    asked: &AccessRequest,
    answering: impl Future<Output = Response>,
) -> Response {
    let response = answering.await;
    let refused = refused_inside(asked, &response);
    match note_refusal(server, caller, asked, refused).await {
        Ok(()) => response,
        Err(error) => HttpError(error).into_response(),
    }
}

/// Attaches the caller to the request, and marks the connection as one of a signed-in person.
pub(crate) fn attach_identity(request: &mut Request, identity: Identity) {
    if let Some(exchange) = request.extensions().get::<Arc<ActiveRequest>>() {
        exchange.mark_signed_in();
    }
    request.extensions_mut().insert(identity);
}

/// Whether the address contains a NUL character. Databases treat NUL differently, so no stored text may contain it.
pub(crate) fn has_nul(request: &Request) -> bool {
    request.uri().path_and_query().is_some_and(|asked| asked.as_str().contains("%00"))
}

/// The parts of a request that decide whether it is allowed.
pub(crate) struct AccessRequest {
    pub(crate) authorization: Option<String>,
    pub(crate) address: String,
    pub(crate) request_id: String,
    pub(crate) method: Method,
    pub(crate) path: String,
}

impl AccessRequest {
    pub(crate) fn of(request: &Request, request_id: &str) -> AccessRequest {
        AccessRequest {
            authorization: header_text(request.headers(), "authorization").map(str::to_owned),
            address: origin::address_of(request),
            request_id: request_id.to_owned(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
        }
    }

    pub(crate) fn changes_something(&self) -> bool {
        self.method != Method::GET && self.method != Method::HEAD
    }
}

async fn check(server: &Server, asked: &AccessRequest, rule: RouteRule) -> Result<AdmittedCaller, Refusal> {
    let (address, request_id) = (asked.address.clone(), asked.request_id.clone());
    let caller = identify(server, asked.authorization.as_deref(), address, request_id).await?;
    let refused = match &caller {
        Caller::Person(identity) => {
            require_own_password(identity, &asked.path).or_else(|| reject_token(identity, rule.operation))
        }
        Caller::Agent(_) => None,
    };
    let admitted = refused.map_or_else(|| admit(rule.access, &caller), Err);
    if let Err(error) = &admitted
        && asked.changes_something()
    {
        record_refusal(server, &caller, asked, (status_of(error), error.code())).await?;
    }
    admitted
}

/// The paths that someone with a one-time password may use.
const BEFORE_OWN_PASSWORD: &[&str] = &["/api/v1/auth/password", "/api/v1/auth/me", "/api/v1/auth/logout"];

fn require_own_password(identity: &Identity, path: &str) -> Option<Refusal> {
    if identity.must_change_password && !BEFORE_OWN_PASSWORD.contains(&path) {
        let help = "POST /api/v1/auth/password, or `windlass login`";
        return Some(Refusal::new(
            RefusalKind::Forbidden,
            "password-change-required",
            "change your one-time password first",
            help,
        ));
    }
    None
}

/// The refusal of an operation that tokens may not use.
fn reject_token(identity: &Identity, operation: Operation) -> Option<Refusal> {
    let is_token = matches!(identity.credential, Credential::Token { .. });
    let what = operation.forbidden_for_tokens().filter(|_| is_token)?;
    let message = format!("a token cannot {what}: sign in as a person");
    Some(Refusal::forbidden(message, "`windlass login`, or POST /api/v1/auth/login"))
}

/// The statuses of refused changes: the caller lacks a permission, or the current state does not allow the change. A request
/// that cannot be read, or whose target does not exist, does not count as a change.
const REFUSALS: [StatusCode; 4] = [
    StatusCode::FORBIDDEN,
    StatusCode::CONFLICT,
    StatusCode::PRECONDITION_FAILED,
    StatusCode::UNPROCESSABLE_ENTITY,
];

/// Status and code of a change that a handler refused, unless the audit log already has it.
fn refused_inside(asked: &AccessRequest, response: &Response) -> Option<(StatusCode, String)> {
    let error = response
        .extensions()
        .get::<ErrorResponse>()
        .filter(|error| error.record == AuditRecording::Required)?;
    let is_refusal = asked.changes_something() && REFUSALS.contains(&response.status());
    is_refusal.then(|| (response.status(), error.error.code.clone()))
}

async fn note_refusal(
    server: &Server,
    caller: &Caller,
    asked: &AccessRequest,
    refused: Option<(StatusCode, String)>,
) -> Result<(), Refusal> {
    match refused {
        Some((status, code)) => record_refusal(server, caller, asked, (status, &code)).await,
        None => Ok(()),
    }
}

/// Records a refused change in the audit log.
pub(crate) async fn record_refusal(
    server: &Server,
    caller: &Caller,
    asked: &AccessRequest,
    (status, code): (StatusCode, &str),
) -> Result<(), Refusal> {
    let mut writing = server.store().write_account(caller.account_id()).await?;
    let target: String = asked.path.chars().take(300).collect();
    let detail = json!({"method": asked.method.as_str(), "status": status.as_u16(), "code": code});
    writing.audit(AuditEntry {
        outcome: Outcome::Refused,
        ..record::audit_entry(&caller.actor(), "request", ("path", &target), detail, now())
    });
    server.commit(writing).await?;
    Ok(())
}

/// The response when a handler panicked: an internal error, without the cause.
pub(crate) fn panic_response(_: Box<dyn Any + Send + 'static>) -> Response {
    let help = "see the server's log for this request";
    HttpError(Refusal::new(RefusalKind::Internal, "internal", "internal error", help)).into_response()
}
