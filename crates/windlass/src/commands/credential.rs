//! `windlass credential`.

use windlass_api::endpoint::Operation;
use windlass_api::types::CredentialList;

use super::remote::Remote;
use crate::args::repository::CredentialCommand;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(command: &CredentialCommand, remote: &Remote) -> Result<Exit, CommandError> {
    match command {
        CredentialCommand::List => {
            let answer = remote.ask(remote.call(Operation::CredentialList, &[]))?;
            remote.show::<CredentialList>(&answer, view::repository::credentials)?;
            Ok(Exit::Fine)
        }
    }
}
