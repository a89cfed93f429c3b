//! The queue of reports: bounded, with one writer.
//!
//! A request puts its report here and waits for the receipt. The writer takes all that are waiting and stores them in one
//! transaction. While that runs, more arrive, so the groups grow with the load. A full queue rejects reports; agents send
//! them again later.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use windlass_api::agent::ReportReceipt;
use windlass_core::agent::Agent;

use crate::metrics;
use crate::refusal::{Refusal, RefusalKind};
use crate::reports::check::CheckedReport;

/// The most reports that wait. Ten thousand agents that report at once wait for a few groups.
const MAX_WAITING: usize = 4_096;

/// The most bytes of reports that wait, in KiB: a quarter of a gigabyte would be too much for a small server.
const MAX_WAITING_KIB: usize = 64 * 1024;

/// After how many seconds an agent sends a report again that did not fit.
const RETRY_AFTER: u64 = 5;

/// A report that waits for the writer.
#[derive(Debug)]
pub(crate) struct QueuedReport {
    /// The agent, as its certificate says.
    pub(crate) agent: Agent,
    /// The report.
    pub(crate) checked: CheckedReport,
    /// When it was queued.
    pub(crate) queued_at: Instant,
    /// Where its receipt goes.
    pub(crate) receipt: oneshot::Sender<Result<ReportReceipt, Refusal>>,
    /// Its share of the queue's memory.
    _share: OwnedSemaphorePermit,
}

/// The queue of one server.
#[derive(Debug)]
pub struct ReportQueue {
    sender: mpsc::Sender<QueuedReport>,
    receiver: Mutex<Option<mpsc::Receiver<QueuedReport>>>,
    memory: Arc<Semaphore>,
}

impl Default for ReportQueue {
    fn default() -> ReportQueue {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        let memory = Arc::new(Semaphore::new(MAX_WAITING_KIB));
        ReportQueue { sender, receiver: Mutex::new(Some(receiver)), memory }
    }
}

impl ReportQueue {
    /// Queues a report of this many bytes, and waits until it is stored.
    pub(crate) async fn submit(
        &self,
        agent: Agent,
        checked: CheckedReport,
        bytes: usize,
    ) -> Result<ReportReceipt, Refusal> {
        let share = u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX);
        let share = Arc::clone(&self.memory).try_acquire_many_owned(share).map_err(|_| full())?;
        let (receipt, received) = oneshot::channel();
        let queued = QueuedReport { agent, checked, queued_at: Instant::now(), receipt, _share: share };
        self.sender.try_send(queued).map_err(|_| full())?;
        metrics::report_queue(self.sender.max_capacity() - self.sender.capacity());
        received.await.unwrap_or_else(|_| Err(full()))
    }

    /// The other end, for the writer; it can be taken once.
    pub(crate) fn take_receiver(&self) -> Option<mpsc::Receiver<QueuedReport>> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn full() -> Refusal {
    metrics::report_dropped();
    let help = "send the report again later";
    Refusal::new(RefusalKind::Unavailable, "busy", "the server cannot store more reports at the moment", help)
        .after_seconds(RETRY_AFTER)
}
