//! Why work that someone asked for was not done.

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

/// Why there is no preview.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PreviewError {
    /// As many as may be made at a time are being made.
    #[error("too many previews are running")]
    Busy,
    /// The server stops.
    #[error("the server is stopping")]
    Stopping,
    /// What was asked for cannot be had.
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
