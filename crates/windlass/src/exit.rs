//! Exit codes, in one place. They are part of the interface: scripts depend on them.

use std::error::Error;
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
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// Writing the output failed.
    #[error("could not write the output")]
    Output(#[from] std::io::Error),
    /// Something the user can act on.
    #[error("{message}")]
    Failed {
        /// What happened.
        message: String,
        /// What to do about it.
        help: String,
        /// Why it happened.
        source: Option<Cause>,
    },
    /// The command line leaves something out that is needed here.
    #[error("{message}")]
    Usage {
        /// What is missing.
        message: String,
        /// What to do about it.
        help: String,
        /// Why it happened.
        source: Option<Cause>,
    },
    /// The server could not be reached, or does not know who is asking.
    #[error("{message}")]
    NoServer {
        /// What happened.
        message: String,
        /// What to do about it.
        help: String,
        /// Why it happened.
        source: Option<Cause>,
    },
    /// The server refused.
    #[error("{}", .0.message)]
    Refused(Box<ErrorBody>),
}

/// What an error came from, with what that came from.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

impl CommandError {
    /// Something the user can act on.
    pub(crate) fn failed(message: impl Into<String>, help: impl Into<String>) -> CommandError {
        CommandError::Failed { message: message.into(), help: help.into(), source: None }
    }

    /// Something the command line should have said.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> CommandError {
        CommandError::Usage { message: message.into(), help: help.into(), source: None }
    }

    /// A server that could not be reached, or that does not know who is asking.
    pub(crate) fn no_server(message: impl Into<String>, help: impl Into<String>) -> CommandError {
        CommandError::NoServer { message: message.into(), help: help.into(), source: None }
    }

    /// The same with what it came from. The message says it no second time: whoever shows the error tells every cause.
    pub(crate) fn because(mut self, cause: impl Into<Cause>) -> CommandError {
        if let CommandError::Failed { source, .. }
        | CommandError::Usage { source, .. }
        | CommandError::NoServer { source, .. } = &mut self
        {
            *source = Some(cause.into());
        }
        self
    }

    /// How the process ends because of it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            CommandError::Output(_) | CommandError::Failed { .. } | CommandError::Refused(_) => {
                Exit::Problems
            }
            CommandError::Usage { .. } => Exit::Usage,
            CommandError::NoServer { .. } => Exit::NoServer,
        }
    }
}
