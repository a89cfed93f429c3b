//! Why a run failed, as it is stored and shown.

use windlass_core::run::RunError;

/// The error code of everything that is rejected because of a quarantine.
pub(crate) const QUARANTINED: &str = "quarantined";

/// The error code of a failure of Windlass itself: a task panicked.
pub(crate) const INTERNAL: &str = "internal";

/// The error of a run whose task panicked.
pub(crate) fn panic_error(panic: &tokio::task::JoinError) -> RunError {
    tracing::error!(error = %panic, "a task panicked");
    RunError::new(INTERNAL, "internal error while reading this repository", "see the server's log")
}
