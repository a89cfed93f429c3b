//! `windlass mcp`: the server's tools for an MCP client that starts us, over standard input and output.
//!
//! Standard output belongs to the protocol; nothing else is written there.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_api::client::{Client, ClientError};
use windlass_api::endpoint::{Operation, TOOLS_HEADER};
use windlass_api::types::{ErrorBody, Me};
use windlass_core::display::error_chain;
use windlass_mcp::{ApiCallSpec, ApiCaller, CallError, CallerCredential, ToolCaller};

use super::remote::{ServerConnection, TokenMask};
use crate::exit::{CommandError, Exit};

/// Answers until the client closes our input.
pub(super) fn run(remote: &ServerConnection) -> Result<Exit, CommandError> {
    let caller = HttpCaller { client: remote.client.clone(), mask: remote.mask() };
    remote.block_on(windlass_mcp::protocol::serve_stdio(caller)).map_err(|error| {
        let help =
            "start this command from an MCP client, which uses the protocol over standard input and output";
        CommandError::failed("cannot read the MCP client's messages", help).because(error)
    })?;
    Ok(Exit::Fine)
}

/// Calls over HTTP.
struct HttpCaller {
    client: Client,
    mask: TokenMask,
}

impl HttpCaller {
    async fn send(&self, call: &ApiCallSpec) -> Result<Value, ClientError> {
        let parts: Vec<&str> = call.parts.iter().map(String::as_str).collect();
        let mut asked = self.client.call(call.operation, &parts).header(TOOLS_HEADER, "yes");
        for (name, value) in &call.query {
            asked = asked.query(name, value);
        }
        if let Some(body) = &call.body {
            asked = asked.body(body);
        }
        let response = asked.send_response().await?;
        let kind = response.headers().get("content-type").map(|kind| kind.as_bytes().to_vec());
        let cut_off = |source| ClientError::unreachable(self.client.server(), source);
        let text = self.mask.hide(response.text().await.map_err(cut_off)?);
        match kind.is_some_and(|kind| kind.starts_with(b"application/json")) {
            true => serde_json::from_str(&text).map_err(|error| ClientError::Answer(error.to_string())),
            false if text.is_empty() => Ok(Value::Null),
            false => Ok(Value::String(text)),
        }
    }

    /// What the server said, or why it said nothing.
    fn told(&self, error: ClientError) -> CallError {
        let told = |code: &str, help: &str, message: String| ErrorBody {
            code: code.to_owned(),
            message: self.mask.hide(message),
            help: help.to_owned(),
            details: Vec::new(),
            request_id: String::new(),
        };
        Box::new(match error {
            ClientError::Refused { body, .. } => self.mask.hide_in(body),
            ClientError::Unreachable { .. } => {
                told("unreachable", "check that the server runs, and try again", error_chain(&error))
            }
            _ => told(
                "not-understood",
                "check WINDLASS_SERVER, and that client and server have the same version",
                error_chain(&error),
            ),
        })
    }
}

impl ApiCaller for HttpCaller {
    async fn identify(&self) -> Result<ToolCaller, CallError> {
        let me: Me = self.client.call(Operation::Me, &[]).send().await.map_err(|error| self.told(error))?;
        let by = if me.token_name.is_some() { CallerCredential::Token } else { CallerCredential::Session };
        Ok(ToolCaller { permissions: BTreeSet::from_iter(me.permissions), by })
    }

    async fn call(&self, call: &ApiCallSpec) -> Result<Value, CallError> {
        self.send(call).await.map_err(|error| self.told(error))
    }

    /// The server was asked nothing, so there is nothing for its record.
    async fn record_refusal(&self, _: &ApiCallSpec, _: &ErrorBody) {}
}
