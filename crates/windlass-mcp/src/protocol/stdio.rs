//! Standard input and output, until the input ends.

use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio;

use super::ToolServer;
use crate::call::ApiCaller;

/// Speaks with whoever started this process, until they close our input.
pub async fn serve_stdio(caller: impl ApiCaller) -> std::io::Result<()> {
    match (ToolServer { caller: Arc::new(caller) }).serve(stdio()).await {
        Ok(running) => running.waiting().await.map(drop).map_err(std::io::Error::other),
        // They went away without a word.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(std::io::Error::other(error)),
    }
}
