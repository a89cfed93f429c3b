//! Commands that ask a server: which server and as whom, the call, and its answer in the form that was asked for.
//!
//! Whatever a server sends back goes through here, or through the [`TokenMask`] that is made here, so that it cannot make
//! us print the token.

use std::future::Future;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_api::client::{ApiCall, Client, ClientError};
use windlass_api::endpoint::Operation;
use windlass_api::types::Me;
use windlass_core::redacted::Redacted;
use windlass_core::secret::HIDDEN;

use super::call_error;
use super::server_address::{ServerAddress, variable};
use super::sign_in_store::Credentials;
use crate::args::server::{Output, ServerOptions};
use crate::exit::CommandError;
use crate::view::{self, Terminal};

/// A server, someone who may ask it, and where answers go.
pub(super) struct ServerConnection {
    pub(super) client: Client,
    pub(super) terminal: Terminal,
    runtime: tokio::runtime::Runtime,
    mask: TokenMask,
    output: Output,
}

/// Hides our token in what a server sends back.
#[derive(Clone)]
pub(super) struct TokenMask(Option<Redacted<String>>);

impl TokenMask {
    /// A text without the token.
    pub(super) fn hide(&self, text: String) -> String {
        match &self.0 {
            Some(token) if !token.expose().is_empty() && text.contains(token.expose()) => {
                text.replace(token.expose(), HIDDEN)
            }
            _ => text,
        }
    }

    /// A value without the token.
    pub(super) fn hide_in<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        let hidden = serde_json::to_string(&value).map(|text| self.hide(text));
        hidden.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(value)
    }
}

impl ServerConnection {
    /// The server and the sign-in that the options, the environment or the last `login` name.
    pub(super) fn open(options: ServerOptions, terminal: Terminal) -> Result<ServerConnection, CommandError> {
        let given = options.token.or_else(|| variable("WINDLASS_TOKEN").map(Redacted::new));
        let server = options.server.or_else(|| variable("WINDLASS_SERVER"));
        let credentials = match (&given, &server) {
            // With a server and a token there is no need for a home; the server's authority may be known nevertheless.
            (Some(_), Some(_)) => Credentials::load().unwrap_or_default(),
            _ => Credentials::load()?,
        };
        let destination = ServerAddress::of(server, None, &credentials)?;
        let server = &destination.address;
        let Some(token) = given.or_else(|| credentials.token(server)) else {
            let message = format!("not signed in to {server}");
            return Err(CommandError::no_server(message, call_error::sign_in_help(server)));
        };
        let remote =
            ServerConnection::with(&destination, Some(token), options.output.unwrap_or_default(), terminal)?;
        if let Some(account) = options.account {
            remote.check_account(&account)?;
        }
        Ok(remote)
    }

    /// A server, and a token if there is one.
    pub(super) fn with(
        destination: &ServerAddress,
        token: Option<Redacted<String>>,
        output: Output,
        terminal: Terminal,
    ) -> Result<ServerConnection, CommandError> {
        let client = destination.client(token.clone())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(ServerConnection { client, terminal, runtime, mask: TokenMask(token), output })
    }

    fn check_account(&self, meant: &str) -> Result<(), CommandError> {
        let me: Me = self.get(self.call(Operation::Me, &[]))?;
        if meant == me.account_name || meant == me.account_id {
            return Ok(());
        }
        let message = format!("you are signed in to account {}, not {meant}", me.account_name);
        let help = format!("sign in with `windlass login {} --account {meant}`", self.client.server());
        Err(CommandError::failed(message, help))
    }

    /// Begins a call.
    pub(super) fn call(&self, operation: Operation, parts: &[&str]) -> ApiCall<'_> {
        self.client.call(operation, parts)
    }

    /// Calls, for an answer that is text, or none.
    pub(super) fn text(&self, call: ApiCall<'_>) -> Result<String, CommandError> {
        let text = self.runtime.block_on(call.send_text());
        text.map(|text| self.hide(text)).map_err(|error| self.call_error(error))
    }

    /// Calls, for the answer as it is.
    pub(super) fn ask(&self, call: ApiCall<'_>) -> Result<Value, CommandError> {
        let text = self.text(call)?;
        serde_json::from_str(&text).map_err(|error| self.call_error(ClientError::Answer(error.to_string())))
    }

    /// Calls, and reads the answer.
    pub(super) fn get<T: DeserializeOwned>(&self, call: ApiCall<'_>) -> Result<T, CommandError> {
        let answer = self.ask(call)?;
        self.read(&answer)
    }

    /// Calls, for an answer that may be that there is no such thing.
    pub(super) fn ask_if_there(&self, call: ApiCall<'_>) -> Result<Option<Value>, CommandError> {
        match self.runtime.block_on(call.send::<Value>()) {
            Ok(answer) => Ok(Some(self.mask.hide_in(answer))),
            Err(ClientError::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(self.call_error(error)),
        }
    }

    /// Reads an answer.
    pub(super) fn read<T: DeserializeOwned>(&self, answer: &Value) -> Result<T, CommandError> {
        T::deserialize(answer).map_err(|error| self.call_error(ClientError::Answer(error.to_string())))
    }

    /// Prints an answer in the form that was asked for, and returns it.
    pub(super) fn show<T: DeserializeOwned>(
        &self,
        answer: &Value,
        human: impl FnOnce(&T, &Terminal) -> std::io::Result<()>,
    ) -> Result<T, CommandError> {
        let typed: T = self.read(answer)?;
        match self.output {
            Output::Human => human(&typed, &self.terminal)?,
            Output::Json | Output::Yaml => self.print(answer)?,
        }
        Ok(typed)
    }

    /// Prints a value that is not for people, or for people only by itself.
    pub(super) fn print(&self, value: &Value) -> Result<(), CommandError> {
        match self.output {
            Output::Json => view::json::document(value)?,
            Output::Human | Output::Yaml => view::yaml::document(value)?,
        }
        Ok(())
    }

    /// Whether answers are for people.
    pub(super) fn is_for_people(&self) -> bool {
        self.output == Output::Human
    }

    /// The form answers are printed in.
    pub(super) fn output(&self) -> Output {
        self.output
    }

    /// Tells people what was done; others read the answer or the exit code.
    pub(super) fn print_message(&self, text: &str) -> Result<(), CommandError> {
        if self.is_for_people() {
            view::line(text)?;
        }
        Ok(())
    }

    /// Runs something that waits for the server.
    pub(super) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Waits a little before asking again.
    pub(super) fn pause(&self, duration: Duration) {
        // Made inside: a timer belongs to the runtime it is made in.
        self.runtime.block_on(async { tokio::time::sleep(duration).await });
    }

    /// What to tell about a call that failed.
    pub(super) fn call_error(&self, error: ClientError) -> CommandError {
        let hidden = match error {
            ClientError::Refused { status, body } => {
                ClientError::Refused { status, body: self.mask.hide_in(body) }
            }
            ClientError::Answer(reason) => ClientError::Answer(self.hide(reason)),
            other => other,
        };
        call_error::call_error(hidden, self.client.server())
    }

    /// A server's text without our token, should it send it back.
    pub(super) fn hide(&self, text: String) -> String {
        self.mask.hide(text)
    }

    /// What hides our token, for those who outlive this.
    pub(super) fn mask(&self) -> TokenMask {
        self.mask.clone()
    }
}
