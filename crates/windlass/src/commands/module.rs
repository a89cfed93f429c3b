//! `windlass module`: the versions of modules.

use serde_json::Value;
use windlass_api::endpoint::Operation;
use windlass_api::types::{ModuleVersionBody, ModuleVersionList, WaitingChange};
use windlass_core::value::Lifecycle;

use super::remote::ServerConnection;
use crate::args::module::{ModuleCommand, PromoteTo};
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(command: &ModuleCommand, remote: &ServerConnection) -> Result<Exit, CommandError> {
    match command {
        ModuleCommand::Versions { name } => {
            let answer = remote.ask(remote.call(Operation::ModuleVersionList, &[name]))?;
            remote.show::<ModuleVersionList>(&answer, view::module::versions)?;
            Ok(Exit::Fine)
        }
        ModuleCommand::Promote { name, version, to, reason } => {
            set_state((name, version), lifecycle(*to), reason.as_ref(), remote)
        }
        ModuleCommand::Retire { name, version, reason } => {
            set_state((name, version), Lifecycle::Retired, reason.as_ref(), remote)
        }
    }
}

const fn lifecycle(to: PromoteTo) -> Lifecycle {
    match to {
        PromoteTo::Built => Lifecycle::Built,
        PromoteTo::Staging => Lifecycle::Staging,
        PromoteTo::Blessed => Lifecycle::Blessed,
        PromoteTo::Live => Lifecycle::Live,
    }
}

fn set_state(
    (module, version): (&str, &str),
    state: Lifecycle,
    reason: Option<&String>,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let call = remote.call(Operation::ModuleVersionPatch, &[module, version]);
    let answer = remote.ask(call.body(&ModuleVersionBody { state }).query_if("reason", reason))?;
    if answer.get("proposal").is_some() {
        remote.show::<WaitingChange>(&answer, |waiting, _| view::proposal::waiting(waiting))?;
        return Ok(Exit::Fine);
    }
    remote.show::<Value>(&answer, |_, _| {
        view::line(&view::sanitize_for_terminal(&format!("{module}@{version} is {}", state.word())))?;
        view::note("resources whose pins follow it get proposals")
    })?;
    Ok(Exit::Fine)
}
