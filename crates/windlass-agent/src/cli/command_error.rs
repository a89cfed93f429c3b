//! Why a command did not do its work.

use std::io;

use windlass_agent::AgentError;

/// Why a command did not do its work.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The agent could not.
    Agent(AgentError),
    /// The output could not be written.
    Output(io::Error),
}

impl From<AgentError> for CommandError {
    fn from(error: AgentError) -> CommandError {
        CommandError::Agent(error)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> CommandError {
        CommandError::Output(error)
    }
}
