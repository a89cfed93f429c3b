//! `windlass node`: what nodes shall be, what their agents see, and who their agents are.

mod describe;
mod drift;
mod enrolment;
mod list;
mod logs;
mod observe;
mod render;
pub(super) mod ways_out;

use super::remote::ServerConnection;
use crate::args::node::NodeCommand;
use crate::args::node_status::NodeStatusCommand;
use crate::args::server::ServerOptions;
use crate::exit::{CommandError, Exit};
use crate::view::Terminal;

pub(super) fn run(
    command: &NodeCommand,
    server: ServerOptions,
    terminal: Terminal,
) -> Result<Exit, CommandError> {
    match command {
        NodeCommand::Status(command) => status(command, &ServerConnection::open(server, terminal)?),
        NodeCommand::Enrolment(command) => {
            enrolment::run(command, &ServerConnection::open(server, terminal)?)
        }
        NodeCommand::Render(options) => render::run(options, server, terminal),
    }
}

fn status(command: &NodeStatusCommand, remote: &ServerConnection) -> Result<Exit, CommandError> {
    match command {
        NodeStatusCommand::List { state, template, region, label, query, by, paging } => {
            let filter = list::NodeFilterArgs { state, template, region, label, query };
            match by {
                Some(by) => list::count(&filter, by, remote),
                None => list::list(&filter, *paging, remote),
            }
        }
        NodeStatusCommand::Describe { name } => describe::run(name, remote),
        NodeStatusCommand::Drift { name } => drift::run(name, remote),
        NodeStatusCommand::Logs { name, follow: false, limit } => logs::show(name, *limit, remote),
        NodeStatusCommand::Logs { name, follow: true, limit } => logs::follow(name, *limit, remote),
        NodeStatusCommand::Observe { name } => observe::run(name, remote),
    }
}
