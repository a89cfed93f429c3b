//! `windlass node describe`.

use windlass_api::endpoint::Operation;
use windlass_api::types::NodeDetail;

use crate::commands::remote::ServerConnection;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(name: &str, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let answer = remote.ask(remote.call(Operation::NodeStatusShow, &[name]))?;
    remote.show::<NodeDetail>(&answer, view::node::describe)?;
    Ok(Exit::Fine)
}
