//! Why a run failed, in the words that are stored and shown.

use windlass_core::run::RunError;

/// The code of everything that is not done because of a quarantine.
pub(crate) const QUARANTINED: &str = "quarantined";

/// The code of a failure that is ours: a thread died.
pub(crate) const INTERNAL: &str = "internal";

/// What is said of a run whose thread died.
pub(crate) fn panic_error(panic: &tokio::task::JoinError) -> RunError {
    tracing::error!(error = %panic, "a task panicked");
    RunError::new(INTERNAL, "internal error while reading this repository", "see the server's log")
}
