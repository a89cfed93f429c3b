//! Sending reports until the server has them.

use std::time::Duration;

use tokio::time::Instant;
use windlass_api::agent::{REPORT, ReportReceipt};

use super::Worker;
use crate::connection::RequestError;
use crate::report::ReportOccasion;

/// The largest receipt.
const MAX_RECEIPT: usize = 64 * 1024;
/// The most reports in a row. A server that always wants another one gets it later.
const MAX_IN_A_ROW: usize = 8;

impl Worker {
    /// Sends what the server does not know, if it can be reached.
    pub(super) async fn send_reports(&mut self) {
        for _ in 0..MAX_IN_A_ROW {
            let now = Instant::now();
            // A server that refuses the stream refuses reports too.
            let is_open = self.announced().is_some();
            let Some(requests) = self.requests().filter(|_| is_open && now >= self.schedule.report_at) else {
                return;
            };
            let is_refresh = now - self.schedule.reported_at >= self.options.report_every;
            let occasion = if is_refresh { ReportOccasion::Refresh } else { ReportOccasion::Change };
            let Some(report) = self.on_engine(move |engine| engine.next_report(occasion)).await else {
                return;
            };
            let sent = self.online(requests.post::<_, ReportReceipt>(REPORT, &report, MAX_RECEIPT)).await;
            match sent {
                Ok(receipt) if receipt.sequence == report.sequence => {
                    self.on_engine(move |engine| engine.acknowledge(&receipt)).await;
                    self.schedule.reported_at = Instant::now();
                    self.schedule.report_backoff.reset();
                }
                Ok(receipt) => {
                    tracing::warn!(
                        sent = report.sequence,
                        received = receipt.sequence,
                        "a receipt of another report"
                    );
                    return self.report_later(None);
                }
                Err(error) if error.is_permanent() => {
                    tracing::error!(%error, "the server does not accept a report; it is dropped");
                    self.on_engine(|engine| engine.give_up_report()).await;
                    return self.report_later(Some(self.options.interval));
                }
                Err(RequestError::Refused { retry_after, .. }) => return self.report_later(retry_after),
                Err(RequestError::Stopping) => return,
                Err(error) => {
                    tracing::debug!(%error, "a report was not sent");
                    return self.report_later(None);
                }
            }
        }
        self.report_later(Some(self.options.interval));
    }

    fn report_later(&mut self, delay: Option<Duration>) {
        let backoff = self.schedule.report_backoff.next_delay((self.surroundings.random)());
        self.schedule.report_at = Instant::now() + delay.unwrap_or(backoff).max(Duration::from_millis(100));
    }
}
