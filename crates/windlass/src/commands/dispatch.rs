//! Which command asks a server for what.

use super::remote::ServerConnection;
use super::{
    access, apply, audit, credential, describe, drift, events, export, get, invitation, login, mcp, module,
    node, notify, policy, proposal, repo, rollout, run, set, status, sync, user,
};
use crate::args::server::{RemoteCommand, RootServerOptions, ServerOptions};
use crate::exit::{CommandError, Exit};
use crate::view::Terminal;

/// Runs a command that asks a server.
pub(crate) fn run(
    command: RemoteCommand,
    root: RootServerOptions,
    terminal: &Terminal,
) -> Result<Exit, CommandError> {
    let open = |server: ServerOptions| ServerConnection::open(server.or(root.clone()), *terminal);
    match command {
        RemoteCommand::Login(at) => login::login(&at.options, at.server.or(root), *terminal),
        RemoteCommand::Logout(at) => login::logout(at.server.or(root), *terminal),
        RemoteCommand::Whoami(at) => login::whoami(&open(at.server)?),
        RemoteCommand::Status(at) => status::status(&open(at.server)?),
        RemoteCommand::Repo(group) => repo::run(group.command, group.server.or(root), *terminal),
        RemoteCommand::Credential(group) => credential::run(&group.command, &open(group.server)?),
        RemoteCommand::Sync(at) => sync::run(&at.options, &open(at.server)?),
        RemoteCommand::Run(group) => run::run(&group.command, &open(group.server)?),
        RemoteCommand::Rollout(group) => rollout::run(&group.command, &open(group.server)?),
        RemoteCommand::Proposal(group) => proposal::run(&group.command, &open(group.server)?),
        RemoteCommand::Node(group) => node::run(&group.command, group.server.or(root), *terminal),
        RemoteCommand::Apply(at) => apply::run(&at.options, &open(at.server)?),
        RemoteCommand::Drift(at) => drift::run(&at.options, &open(at.server)?),
        RemoteCommand::Export(at) => export::run(&at.options, &open(at.server)?),
        RemoteCommand::Notify(group) => notify::run(&group.command, &open(group.server)?),
        RemoteCommand::Module(group) => module::run(&group.command, &open(group.server)?),
        RemoteCommand::Events(at) => events::run(&at.options, &open(at.server)?),
        RemoteCommand::Get(at) => get::run(&at.options, &open(at.server)?),
        RemoteCommand::Describe(at) => describe::run(&at.options, &open(at.server)?),
        RemoteCommand::Set(at) => set::set(&at.options, &open(at.server)?),
        RemoteCommand::Delete(at) => set::delete(&at.options, &open(at.server)?),
        RemoteCommand::Policy(group) => policy::run(&group.command, group.server.or(root), *terminal),
        RemoteCommand::Audit(group) => audit::run(&group.command, || open(group.server)),
        RemoteCommand::Token(group) => access::token(&group.command, &open(group.server)?),
        RemoteCommand::User(group) => user::run(&group.command, &open(group.server)?),
        RemoteCommand::Invitation(group) => invitation::run(&group.command, &open(group.server)?),
        RemoteCommand::Account(group) => access::account(&group.command, &open(group.server)?),
        RemoteCommand::Mcp(at) => mcp::run(&open(at.server)?),
        RemoteCommand::Halt(at) => status::halt(&at.options, &open(at.server)?),
        RemoteCommand::Resume(at) => status::resume(&open(at.server)?),
    }
}
