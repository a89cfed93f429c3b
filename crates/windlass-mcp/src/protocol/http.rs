//! Streamable HTTP without sessions: any replica can answer any request.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::BodyExt as _;
use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::ToolServer;
use crate::call::{ApiCaller, BoxFuture, DynApiCaller};

/// The largest message: the same limit as for REST bodies.
const MAX_MESSAGE: usize = 1024 * 1024;

/// Answers a request for a caller. The server has checked the request's origin before.
pub async fn answer<B>(caller: impl ApiCaller, request: Request<B>) -> Response<BoxBody<Bytes, Infallible>>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    let request = request.map(|body| body.map_err(|error| error.to_string()).boxed_unsync());
    respond(Arc::new(caller), request).await
}

fn respond(
    caller: Arc<dyn DynApiCaller>,
    request: Request<UnsyncBoxBody<Bytes, String>>,
) -> BoxFuture<'static, Response<BoxBody<Bytes, Infallible>>> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_MESSAGE)
        // The server's `mcp` module has already checked the host, with messages of its own.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let tool_server = move || Ok(ToolServer { caller: Arc::clone(&caller) });
    let service = StreamableHttpService::new(tool_server, Arc::new(NeverSessionManager::default()), config);
    Box::pin(async move { service.handle(request).await })
}
