//! Streamable HTTP without sessions: any replica can answer any request.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::ToolServer;
use crate::call::ApiCaller;

/// The largest message: the same limit as for REST bodies.
const MAX_MESSAGE: usize = 1024 * 1024;

/// Answers a request for a caller. The server has checked the request's origin before.
pub async fn answer<C, B>(
    caller: C,
    request: Request<B>,
) -> Response<impl Body<Data = Bytes, Error = Infallible> + Send>
where
    C: ApiCaller,
    B: Body + Send + 'static,
    B::Error: std::fmt::Display,
{
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_MESSAGE)
        // The server's `mcp` module has already checked the host, with messages of its own.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let caller = Arc::new(caller);
    let tool_server = move || Ok(ToolServer { caller: Arc::clone(&caller) });
    StreamableHttpService::new(tool_server, Arc::new(NeverSessionManager::default()), config)
        .handle(request)
        .await
}
