//! `windlass node observe`.

use windlass_api::endpoint::Operation;
use windlass_api::types::ObserveRequested;

use crate::commands::remote::ServerConnection;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(name: &str, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let answer = remote.ask(remote.call(Operation::NodeObserve, &[name]))?;
    remote.show::<ObserveRequested>(&answer, |requested, _| view::line(&requested.message))?;
    Ok(Exit::Fine)
}
