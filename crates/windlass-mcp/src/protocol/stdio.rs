//! Serves tools over standard input and output, until the input ends.

use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio;

use super::ToolServer;
use crate::call::{ApiCaller, BoxFuture};

/// Serves the process that started this one, until it closes our input.
pub async fn serve_stdio(caller: impl ApiCaller) -> std::io::Result<()> {
    serve(ToolServer { caller: Arc::new(caller) }).await
}

fn serve(server: ToolServer) -> BoxFuture<'static, std::io::Result<()>> {
    Box::pin(async move {
        match server.serve(stdio()).await {
            Ok(running) => running.waiting().await.map(drop).map_err(std::io::Error::other),
            // The client closed the connection before it sent a message.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(std::io::Error::other(error)),
        }
    })
}
