//! Why requested work failed.

use windlass_core::run::RunError;
use windlass_store::StoreError;

use crate::limits::fair_permits::NoPermit;
use crate::refusal::{Refusal, RefusalKind};

impl From<PreviewError> for Refusal {
    fn from(error: PreviewError) -> Refusal {
        match error {
            PreviewError::Busy => Refusal::busy("too many previews are running"),
            PreviewError::Stopping => {
                let help = "try again after the restart";
                Refusal::new(RefusalKind::Unavailable, "stopping", "the server is stopping", help)
            }
            PreviewError::Failed(error) => error.into(),
            PreviewError::Store(error) => error.into(),
        }
    }
}

/// Why a preview failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PreviewError {
    /// Too many previews are running.
    #[error("too many previews are running")]
    Busy,
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
    /// The repository or its content cannot be fetched or read.
    #[error("{}", .0.message)]
    Failed(RunError),
    /// The database failed.
    #[error("could not create a preview")]
    Store(#[from] StoreError),
}

impl From<NoPermit> for PreviewError {
    fn from(_: NoPermit) -> PreviewError {
        PreviewError::Busy
    }
}

impl From<RunError> for PreviewError {
    fn from(error: RunError) -> PreviewError {
        PreviewError::Failed(error)
    }
}
