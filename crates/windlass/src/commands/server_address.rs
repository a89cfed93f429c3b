//! Which server is meant, and whose certificates are trusted for it.

use std::path::{Path, PathBuf};

use windlass_api::client::Client;
use windlass_core::redacted::Redacted;

use super::call_error;
use super::sign_in_store::Credentials;
use crate::exit::CommandError;

/// A server, in the one spelling that sign-ins are kept under.
pub(super) struct ServerAddress {
    pub(super) address: String,
    /// The private authority of its certificate: a file, and what it holds.
    authority: Option<(PathBuf, String)>,
}

impl ServerAddress {
    /// The server that the option, the environment or the last sign-in names. Its authority is the one that is given,
    /// the environment's, or the one it was signed in with.
    pub(super) fn of(
        given: Option<String>,
        ca_file: Option<&Path>,
        credentials: &Credentials,
    ) -> Result<ServerAddress, CommandError> {
        let chosen = given.or_else(|| variable("WINDLASS_SERVER")).or_else(|| credentials.current.clone());
        let address = chosen.ok_or_else(|| {
            let help = "sign in with `windlass login URL`, or set WINDLASS_SERVER and WINDLASS_TOKEN; \
                        `windlass serve` starts a server";
            CommandError::no_server("no server is configured", help)
        })?;
        let client = Client::new(&address, None).map_err(|error| call_error::call_error(error, &address))?;
        let address = client.server().to_owned();
        let file = ca_file
            .map(Path::to_path_buf)
            .or_else(|| variable("WINDLASS_CA_FILE").map(PathBuf::from))
            .or_else(|| credentials.ca_file(&address));
        Ok(ServerAddress { authority: file.map(read_authority).transpose()?, address })
    }

    /// A client of it.
    pub(super) fn client(&self, token: Option<Redacted<String>>) -> Result<Client, CommandError> {
        let authority = self.authority.as_ref().map(|(_, pem)| pem.as_str());
        Client::with_authority(&self.address, token, authority)
            .map_err(|error| call_error::call_error(error, &self.address))
    }

    /// The file with the authority's certificate, wherever it is asked for from.
    pub(super) fn ca_file(&self) -> Option<&Path> {
        self.authority.as_ref().map(|(file, _)| file.as_path())
    }
}

fn read_authority(file: PathBuf) -> Result<(PathBuf, String), CommandError> {
    let unreadable = |error: std::io::Error| {
        let message = format!("could not read the CA file {}", file.display());
        CommandError::failed(message, "set another with `windlass login --ca-file FILE` or WINDLASS_CA_FILE")
            .because(error)
    };
    let pem = std::fs::read_to_string(&file).map_err(unreadable)?;
    let whole = std::path::absolute(&file).map_err(unreadable)?;
    Ok((whole, pem))
}

/// What the environment says, if anything.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
