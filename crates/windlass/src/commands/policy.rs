//! `windlass policy`.

use std::path::Path;

use windlass_api::endpoint::Operation;
use windlass_api::types::{PolicyBody, PolicyInfo};
use windlass_core::diagnostic;
use windlass_core::gate::Policy;

use super::input::read_text;
use super::remote::ServerConnection;
use crate::args::access::PolicyCommand;
use crate::args::server::ServerOptions;
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

pub(super) fn run(
    command: &PolicyCommand,
    server: ServerOptions,
    terminal: Terminal,
) -> Result<Exit, CommandError> {
    match command {
        PolicyCommand::Show => {
            let remote = ServerConnection::open(server, terminal)?;
            let answer = remote.ask(remote.call(Operation::PolicyShow, &[]))?;
            remote.show::<PolicyInfo>(&answer, |info, _| view::access::policy(&info.policy))?;
            Ok(Exit::Fine)
        }
        PolicyCommand::Check { file } => {
            let Some((rules, _)) = check(file, &terminal)? else { return Ok(Exit::Problems) };
            view::line(&format!("✓ {}", view::pluralize(rules, "rule")))?;
            Ok(Exit::Fine)
        }
        PolicyCommand::Set { file } => {
            let Some((rules, text)) = check(file, &terminal)? else { return Ok(Exit::Problems) };
            let remote = ServerConnection::open(server, terminal)?;
            let before: PolicyInfo = remote.get(remote.call(Operation::PolicyShow, &[]))?;
            let call = remote.call(Operation::PolicyReplace, &[]).body(&PolicyBody { policy: text.into() });
            let answer = remote.ask(call.header("if-match", &before.version.to_string()))?;
            remote.show::<PolicyInfo>(&answer, |_, _| {
                view::line(&format!("the policy now has {}", view::pluralize(rules, "rule")))
            })?;
            Ok(Exit::Fine)
        }
    }
}

/// Reads a policy and tells its problems: how many rules it has, and its text.
fn check(file: &Path, terminal: &Terminal) -> Result<Option<(usize, String)>, CommandError> {
    let text = read_text(file)?;
    let (policy, problems) = Policy::read(&file.to_string_lossy(), &text);
    view::human::file_problems(&problems, &text, terminal)?;
    let is_sound = !diagnostic::has_errors(&problems);
    Ok(policy.filter(|_| is_sound).map(|policy| (policy.rules.len(), text)))
}
