//! Exit codes, in one place. They are part of the interface: scripts depend on them.

use std::process::ExitCode;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is fine; for `plan`: nothing to do.
    Fine,
    /// Problems were found and told.
    Problems,
    /// `plan`: there are changes.
    Changes,
    /// The command line was wrong.
    Usage,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Fine => 0,
            Exit::Problems => 1,
            Exit::Changes => 2,
            // 2 is taken by `plan`, so a wrong command line has the code sysexits.h gives it.
            Exit::Usage => 64,
        })
    }
}

/// Why a command could not do its work. Problems in files are not among these: they are told and end with
/// [`Exit::Problems`].
#[derive(Debug)]
pub(crate) enum CommandError {
    /// Writing the output failed.
    Output(std::io::Error),
    /// Something the user can act on.
    Told {
        /// What happened.
        message: String,
        /// What to do about it.
        help: String,
    },
}

impl CommandError {
    /// Something the user can act on.
    pub(crate) fn told(message: impl Into<String>, help: impl Into<String>) -> CommandError {
        CommandError::Told { message: message.into(), help: help.into() }
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> CommandError {
        CommandError::Output(error)
    }
}
