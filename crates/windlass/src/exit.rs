//! Exit codes, in one place. They are part of the interface: scripts depend on them.

use std::process::ExitCode;

use windlass_api::types::ErrorBody;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is fine; for `plan` and `drift`: nothing to do.
    Fine,
    /// Problems were found and told, or the server refused.
    Problems,
    /// `plan` and `drift`: there are changes; `migrate --check`: migrations are pending.
    Changes,
    /// The command line was wrong.
    Usage,
    /// The server could not be reached, or nobody is signed in.
    NoServer,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Fine => 0,
            Exit::Problems => 1,
            Exit::Changes => 2,
            // 2 is taken by `plan`, so a wrong command line has the code sysexits.h gives it.
            Exit::Usage => 64,
            // What sysexits.h calls unavailable: trying again later, or signing in, may help.
            Exit::NoServer => 69,
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
    /// The command line leaves something out that is needed here.
    Usage {
        /// What is missing.
        message: String,
        /// What to do about it.
        help: String,
    },
    /// The server could not be reached, or does not know who is asking.
    NoServer {
        /// What happened.
        message: String,
        /// What to do about it.
        help: String,
    },
    /// The server refused.
    Refused(Box<ErrorBody>),
}

impl CommandError {
    /// Something the user can act on.
    pub(crate) fn told(message: impl Into<String>, help: impl Into<String>) -> CommandError {
        CommandError::Told { message: message.into(), help: help.into() }
    }

    /// Something the command line should have said.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> CommandError {
        CommandError::Usage { message: message.into(), help: help.into() }
    }

    /// How the process ends because of it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            CommandError::Output(_) | CommandError::Told { .. } | CommandError::Refused(_) => Exit::Problems,
            CommandError::Usage { .. } => Exit::Usage,
            CommandError::NoServer { .. } => Exit::NoServer,
        }
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> CommandError {
        CommandError::Output(error)
    }
}
