//! How many previews are made at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::PreviewError;

/// Previews at the same time. Each may hold a fleet of 64 MiB in memory.
const AT_ONCE: usize = 4;

/// How long one waits for its turn before whoever asked is told to come back.
const PATIENCE: Duration = Duration::from_secs(10);

/// Turns to make a preview.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    free: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns { free: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Turns {
    /// A turn, which ends when it is dropped.
    pub(crate) async fn take(&self) -> Result<OwnedSemaphorePermit, PreviewError> {
        let waiting = tokio::time::timeout(PATIENCE, Arc::clone(&self.free).acquire_owned());
        match waiting.await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(PreviewError::Busy),
        }
    }
}
