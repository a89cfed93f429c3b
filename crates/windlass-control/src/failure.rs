//! Why a run failed, in the words that are stored and shown.

use windlass_store::RunError;

/// The code of everything that is not done because of a quarantine.
pub(crate) const QUARANTINED: &str = "quarantined";

/// The code of a failure that is ours: a thread died.
pub(crate) const INTERNAL: &str = "internal";

pub(crate) fn internal(panic: &tokio::task::JoinError) -> RunError {
    tracing::error!(error = %panic, "a thread died");
    run_error(INTERNAL, "Windlass itself failed while reading this repository", "see the server's log")
}

/// An error with its causes, once each.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

pub(crate) fn run_error(code: &str, message: impl Into<String>, help: impl Into<String>) -> RunError {
    RunError { code: code.to_owned(), message: message.into(), help: help.into() }
}
