//! `windlass proposal edit`: changing what a proposal would apply, in an editor or from a file.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use windlass_api::endpoint::Operation;
use windlass_api::types::{EditBody, ProposalEnvelope, ProposalInfo};
use windlass_core::yaml;

use super::chosen::show;
use super::confirm;
use super::input::{YamlInput, read_text, read_yaml};
use super::remote::ServerConnection;
use crate::exit::{CommandError, Exit};

/// Where the edit comes from.
pub(super) enum EditSource<'s> {
    Editor,
    File(&'s Path),
    /// An earlier edit is taken back.
    Undo,
}

pub(super) fn run(
    id: &str,
    source: &EditSource<'_>,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let envelope: ProposalEnvelope = remote.get(remote.call(Operation::ProposalShow, &[id]))?;
    let shown = envelope.proposal;
    match source {
        EditSource::Undo => send(&shown, Value::Null, remote),
        EditSource::File(file) => {
            let text = read_text(file)?;
            match read_yaml(&file.to_string_lossy(), &text, &remote.terminal)? {
                YamlInput::Valid(payload) => send(&shown, payload, remote),
                YamlInput::ProblemsReported => Ok(Exit::Problems),
            }
        }
        EditSource::Editor => edit(&shown, remote),
    }
}

fn send(shown: &ProposalInfo, payload: Value, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let call = remote.call(Operation::ProposalEdit, &[&shown.id]).body(&EditBody { payload });
    let answer = remote.ask(call.header("if-match", &shown.version.to_string()))?;
    show(&answer, remote)
}

fn edit(shown: &ProposalInfo, remote: &ServerConnection) -> Result<Exit, CommandError> {
    if !confirm::is_interactive() {
        return Err(CommandError::usage("cannot open an editor without a terminal", "add --file FILE"));
    }
    let before = shown.edited_payload.as_ref().unwrap_or(&shown.payload);
    let fail = |error: std::io::Error| {
        CommandError::failed("could not create a file to edit", "add --file FILE instead").because(error)
    };
    let mut file = tempfile::Builder::new().prefix("windlass-").suffix(".yaml").tempfile().map_err(fail)?;
    file.write_all(yaml::write(before.clone()).as_bytes()).map_err(fail)?;
    open_editor(file.path())?;
    // Editors put a new file in place of the old one: read by name, not by handle.
    let text = read_text(file.path())?;
    let outcome = match read_yaml("the edit", &text, &remote.terminal)? {
        YamlInput::Valid(after) if after == *before => {
            remote.print_message("nothing was changed")?;
            return Ok(Exit::Fine);
        }
        YamlInput::Valid(after) => send(shown, after, remote),
        YamlInput::ProblemsReported => Ok(Exit::Problems),
    };
    if !matches!(outcome, Ok(Exit::Fine)) {
        // What someone typed must not be lost because it has a mistake.
        let (_, kept) = file.keep().map_err(|error| fail(error.error))?;
        crate::view::note(&format!("your edit is kept in {0}; try again with --file {0}", kept.display()))?;
    }
    outcome
}

fn open_editor(path: &Path) -> Result<(), CommandError> {
    let chosen =
        ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|word| !word.is_empty()));
    let editor = chosen.unwrap_or_else(|| "vi".to_owned());
    // Through a shell, because people write `code --wait` there; the path is an argument, never part of the script.
    let ended = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(path).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(CommandError::failed(format!("`{editor}` exited with {status}"), "nothing was sent"))
        }
        Err(error) => {
            let help = "set VISUAL or EDITOR to an editor, or add --file FILE";
            Err(CommandError::failed(format!("could not start `{editor}`"), help).because(error))
        }
    }
}
