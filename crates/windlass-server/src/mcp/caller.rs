//! Sends the calls of tools through the router of the API, so that the same checks, limits and audit entries apply as for
//! any other API request.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use serde_json::Value;
use tower::ServiceExt as _;
use windlass_api::endpoint::TOOLS_HEADER;
use windlass_api::types::{ErrorBody, ErrorEnvelope};
use windlass_control::caller::{Caller, Credential, Identity};
use windlass_mcp::{ApiCallSpec, ApiCaller, CallError, CallerCredential, ToolCaller};

use crate::http::error::default_error;
use crate::http::guard::{AccessRequest, record_refusal};
use crate::http::origin::ClientOrigin;
use crate::mcp::guard::request_id;
use crate::state::Server;

/// The largest response that a tool reads: more than an export of 100,000 resources.
const MAX_ANSWER: usize = 256 * 1024 * 1024;

/// A person who uses tools over HTTP.
pub(super) struct RouterCaller {
    server: Server,
    router: Router,
    who: Identity,
    authorization: Option<HeaderValue>,
    request_id: String,
    origin: Option<ClientOrigin>,
}

impl RouterCaller {
    /// The sender of a request, with its origin.
    pub(super) fn of(server: Server, router: Router, who: Identity, request: &Request) -> RouterCaller {
        RouterCaller {
            server,
            router,
            who,
            authorization: request.headers().get(header::AUTHORIZATION).cloned(),
            request_id: request_id(request),
            origin: request.extensions().get::<ClientOrigin>().cloned(),
        }
    }

    fn request(&self, call: &ApiCallSpec) -> Result<Request, axum::http::Error> {
        let method = call.operation.endpoint().method.as_str();
        let mut request = Request::builder()
            .method(method)
            .uri(call.path_and_query())
            .header("x-request-id", &self.request_id)
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        request = request.header(TOOLS_HEADER, "yes");
        if let Some(origin) = &self.origin {
            request = request.extension(origin.clone());
        }
        request.body(call.body.as_ref().map_or_else(Body::empty, |body| Body::from(body.to_string())))
    }
}

impl ApiCaller for RouterCaller {
    async fn identify(&self) -> Result<ToolCaller, CallError> {
        let by = match self.who.credential {
            Credential::Token { .. } => CallerCredential::Token,
            Credential::Session { .. } => CallerCredential::Session,
        };
        Ok(ToolCaller { permissions: self.who.permissions.clone(), by })
    }

    async fn call(&self, call: &ApiCallSpec) -> Result<Value, CallError> {
        let request = self.request(call).map_err(|_| Box::new(default_error(StatusCode::BAD_REQUEST)))?;
        match self.router.clone().oneshot(request).await {
            Ok(response) => read(response).await,
            Err(never) => match never {},
        }
    }

    async fn record_refusal(&self, call: &ApiCallSpec, refusal: &ErrorBody) {
        let asked = AccessRequest {
            authorization: None,
            address: self.who.address.clone(),
            request_id: self.request_id.clone(),
            method: call.operation.endpoint().method.as_str().parse().unwrap_or(Method::POST),
            path: call.path_and_query().split('?').next().unwrap_or_default().to_owned(),
        };
        let caller = Caller::Person(self.who.clone());
        let recorded =
            record_refusal(&self.server, &caller, &asked, (StatusCode::FORBIDDEN, &refusal.code)).await;
        if let Err(error) = recorded {
            tracing::error!(error = error.code(), "could not record a refusal");
        }
    }
}

/// The body of a response as JSON or text; the error if it is not a success.
async fn read(response: Response) -> Result<Value, CallError> {
    let status = response.status();
    let is_json = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let failed = || Box::new(default_error(StatusCode::INTERNAL_SERVER_ERROR));
    let bytes = to_bytes(response.into_body(), MAX_ANSWER).await.map_err(|_| failed())?;
    if !status.is_success() {
        let parsed = serde_json::from_slice::<ErrorEnvelope>(&bytes);
        return Err(Box::new(parsed.map_or_else(|_| default_error(status), |envelope| envelope.error)));
    }
    match is_json {
        true => serde_json::from_slice(&bytes).map_err(|_| failed()),
        false if bytes.is_empty() => Ok(Value::Null),
        false => Ok(Value::String(String::from_utf8_lossy(&bytes).into_owned())),
    }
}
