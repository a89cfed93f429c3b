//! `windlass credential`.

use windlass_api::endpoint::Operation;
use windlass_api::types::{CredentialBindingBody, CredentialBindingList, CredentialList};

use super::remote::ServerConnection;
use crate::args::repository::CredentialCommand;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(command: &CredentialCommand, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let call = match command {
        CredentialCommand::List => {
            let answer = remote.ask(remote.call(Operation::CredentialList, &[]))?;
            remote.show::<CredentialList>(&answer, view::repository::credentials)?;
            return Ok(Exit::Fine);
        }
        CredentialCommand::Bindings => remote.call(Operation::CredentialBindingList, &[]),
        CredentialCommand::Bind { path, host } => {
            let body = CredentialBindingBody { credential_path: path.clone(), host: host.clone() };
            remote.call(Operation::CredentialBind, &[]).body(&body)
        }
        CredentialCommand::Unbind { path, host } => {
            remote.call(Operation::CredentialUnbind, &[]).query("credential_path", path).query("host", host)
        }
    };
    let answer = remote.ask(call)?;
    remote.show::<CredentialBindingList>(&answer, view::repository::credential_bindings)?;
    Ok(Exit::Fine)
}
