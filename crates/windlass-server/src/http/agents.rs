//! Requests of agents: enrolment, renewal, and the stream of news.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use windlass_api::agent::{EnrollRequest, RenewRequest, StreamMessage};
use windlass_control::agents::certificate::PeerCertificate;
use windlass_control::ask::agent::stream::open_stream;
use windlass_control::ask::enrolment::enrol::{EnrolmentAttempt, enrol};
use windlass_control::ask::enrolment::renew;
use windlass_control::caller::AgentCaller;

use crate::auth::identity::AuthError;
use crate::http::body::read_reserving;
use crate::http::error::HttpError;
use crate::http::guard::RequestId;
use crate::http::origin;
use crate::http::request::{HandlerResult, JsonBody, json_created, json_ok, read_json};
use crate::state::Server;

/// The largest enrolment: a token and a certificate request, from someone whom nobody knows yet.
const MAX_ENROLMENT: usize = 16 * 1024;

/// The agent, as the middleware of the agent listener identified it. Nothing identifies one on the listener for people.
impl FromRequestParts<Server> for AgentCaller {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<AgentCaller, HttpError> {
        parts.extensions.get::<AgentCaller>().cloned().ok_or_else(|| AuthError::Missing.into())
    }
}

/// The certificate of the agent.
pub(crate) struct AgentCertificate(PeerCertificate);

impl FromRequestParts<Server> for AgentCertificate {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<AgentCertificate, HttpError> {
        let certificate = parts.extensions.get::<PeerCertificate>().cloned();
        certificate.map(AgentCertificate).ok_or_else(|| AuthError::Missing.into())
    }
}

pub(crate) async fn enroll(State(server): State<Server>, request: Request) -> HandlerResult {
    let address = origin::address_of(&request);
    let request_id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    let body = read_reserving(request.into_body(), MAX_ENROLMENT, |_| Ok(())).await?;
    let request: EnrollRequest = read_json(&body)?;
    json_created(&enrol(&server, &EnrolmentAttempt { request, address, request_id }).await?)
}

pub(crate) async fn renew(
    State(server): State<Server>,
    caller: AgentCaller,
    JsonBody(request): JsonBody<RenewRequest>,
) -> HandlerResult {
    json_ok(&renew::renew(&server, &caller, &request).await?)
}

pub(crate) async fn stream(
    State(server): State<Server>,
    caller: AgentCaller,
    AgentCertificate(certificate): AgentCertificate,
) -> HandlerResult {
    let stream = open_stream(&server, &caller, &certificate).await?;
    let lines = stream::unfold(stream, |mut stream| async move {
        let message = stream.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(line(&message)), stream))
    });
    let mut response: Response = Body::from_stream(lines).into_response();
    let kind = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

fn line(message: &StreamMessage) -> Bytes {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line.into()
}
