//! Everything that is printed, and nothing that is decided.
//!
//! All text that came from a repository or a server goes through `sanitize_for_terminal` before it reaches a terminal.

pub(crate) mod access;
pub(crate) mod drift;
mod effects;
pub(crate) mod enrolment;
pub(crate) mod event;
pub(crate) mod explain;
mod fields;
pub(crate) mod github;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod module;
pub(crate) mod node;
pub(crate) mod node_render;
pub(crate) mod notify;
pub(crate) mod plan_set;
pub(crate) mod progress;
pub(crate) mod proposal;
pub(crate) mod repository;
pub(crate) mod resource;
pub(crate) mod rollout;
pub(crate) mod run;
pub(crate) mod sarif;
pub(crate) mod table;
mod time;
pub(crate) mod webhook;
pub(crate) mod yaml;

use std::io::{self, IsTerminal as _, Write as _};

use windlass_api::types::ErrorBody;
use windlass_core::diagnostic::Diagnostic;
use windlass_core::digest::Digest;
use windlass_core::display::error_chain;
pub(crate) use windlass_core::display::{pluralize, sanitize_for_terminal};

use crate::exit::CommandError;

/// Width when there is no terminal to ask: wide enough for a message, narrow enough for a log.
const DEFAULT_WIDTH: usize = 100;

/// What is known about where output goes.
#[derive(Clone, Copy)]
pub(crate) struct Terminal {
    /// Columns.
    pub(crate) width: usize,
}

impl Terminal {
    /// Asks the terminal, or `COLUMNS`.
    pub(crate) fn detect() -> Terminal {
        let from_environment = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let from_terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        Terminal { width: from_environment.or(from_terminal).unwrap_or(DEFAULT_WIDTH).clamp(40, 400) }
    }
}

/// What `validate` found.
pub(crate) struct ValidationResult<'v> {
    pub(crate) problems: &'v [Diagnostic],
    pub(crate) resources: usize,
    pub(crate) digest: Digest,
}

/// The text of a file by name, for excerpts.
pub(crate) type FileTextLookup<'v> = dyn Fn(&str) -> Option<&'v str> + 'v;

/// Prints why a command could not do its work.
pub(crate) fn error(error: &CommandError) {
    // There is nowhere left to tell that standard error is closed.
    let _ = failure(&mut anstream::stderr(), error);
}

/// Writes why a command could not do its work, with every cause once.
fn failure(out: &mut impl io::Write, error: &CommandError) -> io::Result<()> {
    let help = match error {
        CommandError::Refused(body) => return refusal(out, body, ""),
        CommandError::Output(_) => "",
        CommandError::Failed { help, .. }
        | CommandError::Usage { help, .. }
        | CommandError::NoServer { help, .. } => help,
    };
    let style = anstyle::AnsiColor::Red.on_default().bold();
    writeln!(out, "{style}error{style:#}: {}", sanitize_for_terminal(&error_chain(error)))?;
    if !help.is_empty() {
        writeln!(out, "  help: {}", sanitize_for_terminal(help))?;
    }
    Ok(())
}

/// Writes what a server refused and why, like problems of a file.
fn refusal(out: &mut impl io::Write, body: &ErrorBody, indent: &str) -> io::Result<()> {
    let style = anstyle::AnsiColor::Red.on_default().bold();
    writeln!(
        out,
        "{indent}{style}error[{}]{style:#}: {}",
        sanitize_for_terminal(&body.code),
        sanitize_for_terminal(&body.message)
    )?;
    for detail in &body.details {
        let place = if detail.path.is_empty() {
            String::new()
        } else {
            format!("{}: ", sanitize_for_terminal(&detail.path))
        };
        writeln!(
            out,
            "{indent}  - {place}{} [{}]",
            sanitize_for_terminal(&detail.message),
            sanitize_for_terminal(&detail.code)
        )?;
        if !detail.help.is_empty() {
            writeln!(out, "{indent}      help: {}", sanitize_for_terminal(&detail.help))?;
        }
    }
    if !body.help.is_empty() {
        writeln!(out, "{indent}  help: {}", sanitize_for_terminal(&body.help))?;
    }
    if !body.request_id.is_empty() {
        writeln!(out, "{indent}  request: {}", sanitize_for_terminal(&body.request_id))?;
    }
    Ok(())
}

/// Prints one line beside the answer: what was done, or what to try next.
pub(crate) fn note(text: &str) -> io::Result<()> {
    writeln!(anstream::stderr(), "{}", sanitize_for_terminal(text))
}

/// Prints one line.
pub(crate) fn line(text: &str) -> io::Result<()> {
    writeln!(anstream::stdout(), "{}", sanitize_for_terminal(text))
}

/// Prints a document of a server: as it is into a file or pipe, made safe on a terminal.
pub(crate) fn document(document: &str) -> io::Result<()> {
    match io::stdout().is_terminal() {
        true => text(&sanitize_for_terminal(document)),
        false => text(document),
    }
}

/// Prints text that is the product itself, as it is.
pub(crate) fn text(text: &str) -> io::Result<()> {
    bytes(text.as_bytes())
}

/// Prints bytes that are the product itself, as they are.
pub(crate) fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// The end of an id: ids of the same moment begin alike. Commands take it in place of the whole.
fn short(id: &str) -> String {
    let length = id.chars().count();
    sanitize_for_terminal(&id.chars().skip(length.saturating_sub(8)).collect::<String>())
}

/// The beginning of a commit id, as git shortens it.
fn short_commit(id: &str) -> String {
    sanitize_for_terminal(&id.chars().take(10).collect::<String>())
}

/// Lines of `name  value`, the names in one column; those without a value are left out.
fn facts(out: &mut impl io::Write, facts: &[(&str, String)]) -> io::Result<()> {
    let told = || facts.iter().filter(|(_, value)| !value.is_empty());
    let width = told().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in told() {
        writeln!(out, "  {name:width$}  {}", sanitize_for_terminal(value))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use windlass_store::StoreError;

    use super::*;

    fn told(error: &CommandError) -> String {
        let mut out = Vec::new();
        failure(&mut anstream::StripStream::new(&mut out), error).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_error_of_the_database_is_told_with_its_cause_once_each() {
        let file = std::path::PathBuf::from("/var/lib/windlass.db");
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        // Its words repeat the cause, as those of many errors do.
        let error = StoreError::NotPrivate { path: file, source: denied };
        let text = told(&CommandError::failed("cannot use the database", "look").because(error));
        let expected = "error: cannot use the database: cannot restrict access to /var/lib/windlass.db: \
                        permission denied\n  help: look\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_a_command_says_of_itself_stands_before_the_causes() {
        let output = CommandError::from(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(told(&output), "error: could not write the output: no storage space\n");
        assert_eq!(told(&CommandError::usage("what?", "say it")), "error: what?\n  help: say it\n");
    }
}
