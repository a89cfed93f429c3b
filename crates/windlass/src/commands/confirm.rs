//! Asking the person in front of the terminal. Where there is none, the command line must have said it.

use std::io::{self, IsTerminal as _, Write as _};

use windlass_core::redacted::Redacted;

use crate::exit::CommandError;
use crate::view;

/// What someone said to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConfirmAnswer {
    Given,
    Refused,
}

/// Whether the command line already said yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preconfirmed {
    AlreadyYes,
    NotYet,
}

impl From<bool> for Preconfirmed {
    fn from(yes: bool) -> Preconfirmed {
        if yes { Preconfirmed::AlreadyYes } else { Preconfirmed::NotYet }
    }
}

/// Asks a question whose answer is no unless someone says yes.
pub(super) fn confirm(question: &str, asked: Preconfirmed) -> Result<ConfirmAnswer, CommandError> {
    if asked == Preconfirmed::AlreadyYes {
        return Ok(ConfirmAnswer::Given);
    }
    if !is_interactive() {
        return Err(CommandError::usage("cannot ask for confirmation without a terminal", "add --yes"));
    }
    let answer = line(&format!("{question} [y/N] "))?;
    Ok(match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => ConfirmAnswer::Given,
        _ => {
            view::note("cancelled")?;
            ConfirmAnswer::Refused
        }
    })
}

/// Whether questions can be asked.
pub(super) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a line.
pub(super) fn line(question: &str) -> Result<String, CommandError> {
    let mut err = io::stderr();
    write!(err, "{}", view::sanitize_for_terminal(question))?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// Asks for a secret, which is not shown while it is typed.
pub(super) fn secret(question: &str) -> Result<Redacted<String>, CommandError> {
    rpassword::prompt_password(question).map(Redacted::new).map_err(|error| {
        let help = "without a terminal, use --password-stdin or WINDLASS_TOKEN";
        CommandError::usage("could not read the password", help).because(error)
    })
}
