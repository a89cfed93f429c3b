//! `windlass node drift`.

use windlass_api::endpoint::Operation;
use windlass_api::types::NodeDrift;

use crate::commands::remote::ServerConnection;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(name: &str, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let answer = remote.ask(remote.call(Operation::NodeDriftShow, &[name]))?;
    let drift = remote.show::<NodeDrift>(&answer, |drift, _| view::node::drift(drift))?;
    let is_drifted = drift.left_out > 0 || drift.items.iter().any(|item| item.acceptance.is_none());
    Ok(if is_drifted { Exit::Changes } else { Exit::Fine })
}
