//! Asking the person in front of the terminal. Where there is none, the command line must have said it.

use std::io::{self, IsTerminal as _, Write as _};

use windlass_core::redacted::Redacted;

use crate::exit::CommandError;
use crate::view;

/// What someone said to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consent {
    Given,
    Refused,
}

/// Whether the command line already said yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    AlreadyYes,
    NotYet,
}

impl From<bool> for Asked {
    fn from(yes: bool) -> Asked {
        if yes { Asked::AlreadyYes } else { Asked::NotYet }
    }
}

/// Asks a question whose answer is no unless someone says yes.
pub(super) fn confirm(question: &str, asked: Asked) -> Result<Consent, CommandError> {
    if asked == Asked::AlreadyYes {
        return Ok(Consent::Given);
    }
    if !is_someone_there() {
        return Err(CommandError::usage("this needs a yes, and there is no terminal to ask", "add --yes"));
    }
    let answer = line(&format!("{question} [y/N] "))?;
    Ok(match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Consent::Given,
        _ => {
            view::note("nothing was done")?;
            Consent::Refused
        }
    })
}

/// Whether questions can be asked.
pub(super) fn is_someone_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a line.
pub(super) fn line(question: &str) -> Result<String, CommandError> {
    let mut err = io::stderr();
    write!(err, "{}", view::clean(question))?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// Asks for a secret, which is not shown while it is typed.
pub(super) fn secret(question: &str) -> Result<Redacted<String>, CommandError> {
    rpassword::prompt_password(question).map(Redacted::new).map_err(|error| {
        let message = format!("could not ask for the password: {error}");
        CommandError::usage(message, "without a terminal, use --password-stdin or WINDLASS_TOKEN")
    })
}
