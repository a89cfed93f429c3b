//! Stopping: whoever runs the agent asks, and every wait of it ends.

use tokio::sync::watch;

/// Whether the agent shall stop.
#[derive(Clone, Debug)]
pub(crate) struct Stop(watch::Receiver<bool>);

/// Asks the agent to stop.
#[derive(Debug)]
pub(crate) struct StopRequest(watch::Sender<bool>);

impl Stop {
    pub(crate) fn channel() -> (StopRequest, Stop) {
        let (request, stop) = watch::channel(false);
        (StopRequest(request), Stop(stop))
    }

    pub(crate) fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when the agent shall stop.
    pub(crate) async fn requested(&self) {
        let mut stop = self.0.clone();
        // Without anyone who could ask, the agent stops too.
        let _ = stop.wait_for(|is_requested| *is_requested).await;
    }
}

impl StopRequest {
    pub(crate) fn request(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn is_requested(&self) -> bool {
        *self.0.borrow()
    }
}
