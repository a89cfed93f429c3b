//! `windlass status`, `halt` and `resume`.

use windlass_api::endpoint::Operation;
use windlass_api::types::{AccountEnvelope, HaltBody, Status};

use super::confirm::{ConfirmAnswer, confirm};
use super::remote::ServerConnection;
use crate::args::access::HaltOptions;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn status(remote: &ServerConnection) -> Result<Exit, CommandError> {
    let answer = remote.ask(remote.call(Operation::Status, &[]))?;
    remote.show::<Status>(&answer, |status, _| view::access::status(status, remote.client.server()))?;
    Ok(Exit::Fine)
}

pub(super) fn halt(options: &HaltOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let question = "Stop applying in the whole account?";
    if confirm(question, options.yes.into())? == ConfirmAnswer::Refused {
        return Ok(Exit::Problems);
    }
    let body = HaltBody { reason: options.reason.clone() };
    let answer = remote.ask(remote.call(Operation::Halt, &[]).body(&body))?;
    remote.show::<AccountEnvelope>(&answer, |envelope, _| view::access::halted(&envelope.account))?;
    Ok(Exit::Fine)
}

pub(super) fn resume(remote: &ServerConnection) -> Result<Exit, CommandError> {
    let answer = remote.ask(remote.call(Operation::Resume, &[]))?;
    remote.show::<AccountEnvelope>(&answer, |envelope, _| view::access::halted(&envelope.account))?;
    Ok(Exit::Fine)
}
