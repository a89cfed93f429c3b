//! `windlass drift node`: revert, adopt or accept the drift of a node's host.

use std::path::Path;

use windlass_api::endpoint::Operation;
use windlass_api::types::{NodeAcceptBody, NodeAdopted, NodeDrift, NodeItemBody, NodeReverted};
use windlass_core::time::Timestamp;

use crate::args::node_status::{NodeDriftCommand, NodeItem};
use crate::commands::input::{OverwritePolicy, write_text};
use crate::commands::moment::moment;
use crate::commands::remote::ServerConnection;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(in crate::commands) fn run(
    command: &NodeDriftCommand,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    match command {
        NodeDriftCommand::Revert { node } => {
            let answer = remote.ask(remote.call(Operation::NodeDriftRevert, &[node]))?;
            remote.show::<NodeReverted>(&answer, |reverted, _| view::line(&reverted.message))?;
        }
        NodeDriftCommand::Adopt { item, patch_file } => adopt(item, patch_file.as_deref(), remote)?,
        NodeDriftCommand::Accept { item, until, reason } => {
            let now = Timestamp::from_millis(jiff::Timestamp::now().as_millisecond());
            let until = until.as_deref().map(|text| moment(text, now)).transpose()?;
            let NodeItemBody { kind, name } = body(item);
            let body = NodeAcceptBody { kind, name, until, reason: reason.clone() };
            let answer = remote.ask(remote.call(Operation::NodeDriftAccept, &[&item.node]).body(&body))?;
            remote.show::<NodeDrift>(&answer, |_, _| view::line(&format!("{}: accepted", named(item))))?;
        }
        NodeDriftCommand::Unaccept { item } => {
            let call = remote.call(Operation::NodeDriftUnaccept, &[&item.node]).body(&body(item));
            let answer = remote.ask(call)?;
            let line = format!("{}: no longer accepted", named(item));
            remote.show::<NodeDrift>(&answer, |_, _| view::line(&line))?;
        }
    }
    Ok(Exit::Fine)
}

fn body(item: &NodeItem) -> NodeItemBody {
    NodeItemBody { kind: item.kind.clone(), name: item.name.clone() }
}

fn named(item: &NodeItem) -> String {
    format!("{} {} of node {}", item.kind, item.name, item.node)
}

fn adopt(item: &NodeItem, patch_file: Option<&Path>, remote: &ServerConnection) -> Result<(), CommandError> {
    let answer = remote.ask(remote.call(Operation::NodeDriftAdopt, &[&item.node]).body(&body(item)))?;
    let adopted: NodeAdopted = remote.read(&answer)?;
    if let Some(file) = patch_file {
        write_text(file, &adopted.patch, OverwritePolicy::Replace)?;
    }
    remote.show::<NodeAdopted>(&answer, |adopted, _| match patch_file {
        Some(file) => view::line(&format!("wrote {}: apply it with `git apply`", file.display())),
        None => view::document(&adopted.patch),
    })?;
    Ok(())
}
