//! Reports: prepared on the disk before they are sent, and cleared when the server has them.

use windlass_api::agent::{ObservedBody, ReportBody, ReportReceipt};

use super::engine::Engine;
use crate::report::{ReportOccasion, host_facts};

impl Engine {
    /// The report to send, if the server does not know everything.
    pub(crate) fn next_report(&mut self, occasion: ReportOccasion) -> Option<ReportBody> {
        let was_sending = self.outbox.is_sending();
        let root = self.root().to_owned();
        let report = self.outbox.prepare(occasion, || host_facts(&root)).cloned()?;
        if !was_sending {
            // A report that cannot be saved is sent all the same: on a full disk, this is what says so.
            self.try_save_outbox();
        }
        self.reached("before sending a report");
        Some(report)
    }

    /// The server stored a report.
    pub(crate) fn acknowledge(&mut self, receipt: &ReportReceipt) {
        self.reached("after sending a report");
        let now = self.now();
        self.outbox.acknowledge(receipt, now);
        self.try_save_outbox();
    }

    /// The server never stores the report on its way.
    pub(crate) fn give_up_report(&mut self) {
        self.outbox.give_up_sending();
        self.try_save_outbox();
    }

    /// The next report lists every module.
    pub(crate) fn request_complete_report(&mut self) {
        self.outbox.request_complete();
    }

    /// Whether the server does not know everything.
    pub(crate) fn has_news(&self) -> bool {
        self.outbox.is_sending() || self.outbox.has_news()
    }

    /// Whether the host is what its server wants, as far as the agent knows.
    pub(crate) fn is_in_sync(&self) -> bool {
        let view = self.outbox.view();
        let is_known = matches!(view.target.observed, ObservedBody::Known { .. });
        is_known && view.target.failure.is_none() && view.drift.is_empty() && !self.has_to_apply()
    }
}
