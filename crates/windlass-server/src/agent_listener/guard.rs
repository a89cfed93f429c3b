//! Decides which agent a request is from, and whether it may make it. The certificate of the connection says who it is; nothing
//! else does.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderValue;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use windlass_api::agent::CERTIFICATE_EXPIRED;
use windlass_api::endpoint::{Access, Operation};
use windlass_control::admission::{AdmittedCaller, admit};
use windlass_control::agents::certificate::PeerCertificate;
use windlass_control::ask::enrolment::record::{
    CertificateRefusal, current_agent, record_refused_certificate,
};
use windlass_control::caller::{AgentCaller, Caller};
use windlass_control::clock::now;
use windlass_control::metrics;
use windlass_control::refusal::{Refusal, RefusalKind};
use windlass_core::enrolment::CertificateValidity;
use windlass_store::unique_text;

use crate::agent_listener::serve::ConnectionCertificate;
use crate::http::error::HttpError;
use crate::http::guard::{RequestId, Route, RouteRule, has_nul, method_label, rule_of};
use crate::http::origin;
use crate::state::Server;

/// Assigns the id of a request, measures it and logs it. Thousands of agents make requests all the time, so the log has them only
/// at the level of debugging.
pub(crate) async fn measure(mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = unique_text();
    request.extensions_mut().insert(RequestId(id.clone()));
    let (method, address) = (request.method().clone(), origin::address_of(&request));
    let mut response = next.run(request).await;
    let route = response.extensions().get::<Route>().map_or("unmatched", |route| route.0.as_str());
    let status = response.status().as_u16();
    metrics::request(method_label(&method), route, status, begun.elapsed());
    tracing::debug!(target: "access", %method, route, status, request = id, address);
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("x-request-id", value);
    }
    response
}

/// Passes a request to its handler only if the endpoint table allows it.
pub(crate) async fn authorize(State(server): State<Server>, mut request: Request, next: Next) -> Response {
    let route =
        request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned()).unwrap_or_default();
    let rule = rule_of(request.method(), &route);
    let asked = AgentRequest::of(&request);
    let checked = match rule {
        // A route that is not in the table is open to nobody.
        None => Err(Refusal::not_found()),
        Some(_) if has_nul(&request) => {
            Err(Refusal::bad_request("the address contains a NUL character", "remove it"))
        }
        Some(RouteRule { access: Access::Public, .. }) => Ok(None),
        Some(rule) => check(&server, asked, rule).await.map(Some),
    };
    let mut response = match checked {
        Ok(None) => next.run(request).await,
        Ok(Some((caller, certificate))) => {
            request.extensions_mut().insert(caller);
            request.extensions_mut().insert(certificate);
            next.run(request).await
        }
        Err(refusal) => HttpError(refusal).into_response(),
    };
    response.extensions_mut().insert(Route(route));
    response
}

/// The parts of a request that decide whether it is allowed.
struct AgentRequest {
    certificate: Option<PeerCertificate>,
    address: String,
    request_id: String,
}

impl AgentRequest {
    fn of(request: &Request) -> AgentRequest {
        let extensions = request.extensions();
        AgentRequest {
            certificate: extensions.get::<ConnectionCertificate>().and_then(|it| it.0.clone()),
            address: origin::address_of(request),
            request_id: extensions.get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default(),
        }
    }
}

/// The agent that makes a request, if it may.
async fn check(
    server: &Server,
    asked: AgentRequest,
    rule: RouteRule,
) -> Result<(AgentCaller, PeerCertificate), Refusal> {
    let AgentRequest { certificate, address, request_id } = asked;
    let certificate = certificate.ok_or_else(without_certificate)?;
    match certificate.validity(now()) {
        CertificateValidity::Valid => {}
        CertificateValidity::RenewOnly if rule.operation == Operation::AgentRenew => {}
        CertificateValidity::RenewOnly => return Err(renew_first()),
        CertificateValidity::Invalid => {
            let why = CertificateRefusal::Expired;
            record_refused_certificate(server, &certificate.agent_id, why, &address).await?;
            return Err(without_certificate());
        }
    }
    let agent = current_agent(server, &certificate, &address).await?;
    let caller = Caller::Agent(AgentCaller { agent, address, request_id });
    match admit(rule.access, &caller)? {
        AdmittedCaller::Agent(caller) => {
            server.hub().record_contact(&caller.agent.id, now());
            Ok((caller, certificate))
        }
        AdmittedCaller::Anyone | AdmittedCaller::Person(_) => Err(Refusal::not_found()),
    }
}

fn without_certificate() -> Refusal {
    let help = "enrol the host with a token of `windlass node enroll`";
    Refusal::new(RefusalKind::Unauthenticated, "unauthorized", "a valid client certificate is required", help)
}

fn renew_first() -> Refusal {
    let help = "renew it first: POST /agent/v1/renew";
    Refusal::new(RefusalKind::Unauthenticated, CERTIFICATE_EXPIRED, "the client certificate expired", help)
}
