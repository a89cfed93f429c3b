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
use super::input::{ReadYaml, read_text, read_yaml};
use super::remote::Remote;
use crate::exit::{CommandError, Exit};

/// Where the edit comes from.
pub(super) enum Source<'s> {
    Editor,
    File(&'s Path),
    /// An earlier edit is taken back.
    Undo,
}

impl Source<'_> {
    pub(super) fn of(file: Option<&Path>, undo: bool) -> Source<'_> {
        match file {
            _ if undo => Source::Undo,
            Some(file) => Source::File(file),
            None => Source::Editor,
        }
    }
}

pub(super) fn run(id: &str, source: &Source<'_>, remote: &Remote) -> Result<Exit, CommandError> {
    let envelope: ProposalEnvelope = remote.get(remote.call(Operation::ProposalShow, &[id]))?;
    let shown = envelope.proposal;
    match source {
        Source::Undo => send(&shown, Value::Null, remote),
        Source::File(file) => {
            let text = read_text(file)?;
            match read_yaml(&file.to_string_lossy(), &text, &remote.terminal)? {
                ReadYaml::Sound(payload) => send(&shown, payload, remote),
                ReadYaml::Told => Ok(Exit::Problems),
            }
        }
        Source::Editor => edit(&shown, remote),
    }
}

fn send(shown: &ProposalInfo, payload: Value, remote: &Remote) -> Result<Exit, CommandError> {
    let call = remote.call(Operation::ProposalEdit, &[&shown.id]).body(&EditBody { payload });
    let answer = remote.ask(call.header("if-match", &shown.version.to_string()))?;
    show(&answer, remote)
}

fn edit(shown: &ProposalInfo, remote: &Remote) -> Result<Exit, CommandError> {
    if !confirm::is_someone_there() {
        return Err(CommandError::usage("there is no terminal for an editor", "add --file FILE"));
    }
    let before = shown.edited_payload.as_ref().unwrap_or(&shown.payload);
    let fail = |error: std::io::Error| {
        CommandError::told(format!("could not keep a file to edit: {error}"), "add --file FILE instead")
    };
    let mut file = tempfile::Builder::new().prefix("windlass-").suffix(".yaml").tempfile().map_err(fail)?;
    file.write_all(yaml::write(before.clone()).as_bytes()).map_err(fail)?;
    open_editor(file.path())?;
    // Editors put a new file in place of the old one: read by name, not by handle.
    let text = read_text(file.path())?;
    let outcome = match read_yaml("the edit", &text, &remote.terminal)? {
        ReadYaml::Sound(after) if after == *before => {
            remote.say("nothing was changed")?;
            return Ok(Exit::Fine);
        }
        ReadYaml::Sound(after) => send(shown, after, remote),
        ReadYaml::Told => Ok(Exit::Problems),
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
        Ok(status) => Err(CommandError::told(format!("`{editor}` ended with {status}"), "nothing was sent")),
        Err(error) => {
            let help = "set VISUAL or EDITOR to an editor, or add --file FILE";
            Err(CommandError::told(format!("could not start `{editor}`: {error}"), help))
        }
    }
}
