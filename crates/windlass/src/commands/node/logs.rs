//! `windlass node logs`.

use windlass_api::endpoint::Operation;
use windlass_api::types::{EventList, NodeDetail};

use crate::args::resource::EventsOptions;
use crate::commands::events;
use crate::commands::remote::ServerConnection;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn show(name: &str, limit: u16, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let limit = limit.clamp(1, 500).to_string();
    let answer = remote.ask(remote.call(Operation::NodeLog, &[name]).query("limit", limit))?;
    remote.show::<EventList>(&answer, |list, terminal| {
        view::event::list(list.fleet_events.iter().rev(), terminal)
    })?;
    Ok(Exit::Fine)
}

pub(super) fn follow(name: &str, limit: u16, remote: &ServerConnection) -> Result<Exit, CommandError> {
    // Events name the node; the caller may have given its id.
    let node: NodeDetail = remote.get(remote.call(Operation::NodeStatusShow, &[name]))?;
    let options = EventsOptions {
        follow: true,
        kind: Some("agent.".to_owned()),
        run: None,
        repo: None,
        resource: Some(format!("node/{}", node.node.name)),
        limit,
    };
    events::run(&options, remote)
}
