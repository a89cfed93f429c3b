//! The outbox: what the server has yet to hear.
//!
//! One report is on its way at a time. It stays the same, with its sequence number, until the server acknowledges it, so
//! that the server can tell a repeated one. Meanwhile events wait, within bounds, and the view changes; the next report
//! has what is different by then.

use serde::{Deserialize, Serialize};
use windlass_api::agent::{
    AgentEvent, AgentEventKind, HostFacts, ModuleObservation, NewerReport, ReportBody, ReportReceipt,
};
use windlass_core::id::AgentId;
use windlass_core::observed::AgentMessage;
use windlass_core::time::Timestamp;

use super::budget::WaitingEvents;
use super::sent::Acknowledged;
use super::view::HostView;

/// How many sequence numbers are reserved on the disk at once.
const SEQUENCE_BLOCK: u64 = 1000;

/// Why a report is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportOccasion {
    /// Something may have changed.
    Change,
    /// Nothing was reported for a while: the time of the last look goes to the server even if nothing changed.
    Refresh,
}

/// What the server has yet to hear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outbox {
    /// The agent that it belongs to: another enrolment starts with an empty one.
    agent: AgentId,
    /// Sequence numbers from this on are certainly unused.
    reserved: u64,
    #[serde(skip)]
    next: u64,
    /// The generation that the agent accepted last. It orders the reports.
    generation: u64,
    view: HostView,
    acknowledged: Acknowledged,
    /// Whether the next report lists every module.
    complete_due: bool,
    events: WaitingEvents,
    /// The report on its way.
    sending: Option<ReportBody>,
    /// When the server last acknowledged a report, by the agent's clock.
    #[serde(default)]
    heard_at: Option<Timestamp>,
}

impl Outbox {
    /// Nothing was reported yet.
    pub(crate) fn new(agent: AgentId, at: Timestamp) -> Outbox {
        Outbox {
            agent,
            reserved: 1,
            next: 1,
            generation: 0,
            view: HostView::of_nothing(at),
            acknowledged: Acknowledged::default(),
            complete_due: true,
            events: WaitingEvents::default(),
            sending: None,
            heard_at: None,
        }
    }

    /// Continues after a restart: with unused sequence numbers.
    pub(crate) fn resumed(mut self) -> Outbox {
        self.next = self.reserved;
        self
    }

    /// Continues after the newest version was lost, perhaps with a report that the server knows. Its numbers are skipped.
    pub(crate) fn resumed_after_loss(mut self) -> Outbox {
        self.reserved = self.reserved.saturating_add(2 * SEQUENCE_BLOCK);
        self.complete_due = true;
        self.sending = None;
        self.resumed()
    }

    pub(crate) fn agent(&self) -> &AgentId {
        &self.agent
    }

    pub(crate) fn view(&self) -> &HostView {
        &self.view
    }

    pub(crate) fn heard_at(&self) -> Option<Timestamp> {
        self.heard_at
    }

    /// Replaces the view. Returns whether anything but the time of the look is different.
    pub(crate) fn show(&mut self, view: HostView, generation: u64) -> bool {
        let mut known = Acknowledged::default();
        known.add(&self.body(true));
        let is_same = known.knows_target(&view, generation)
            && self.view.modules.len() == view.modules.len()
            && view.modules.keys().all(|name| known.knows_module(&view, name));
        // The server orders reports by it. An agent that lost its assignment still has news.
        (self.view, self.generation) = (view, self.generation.max(generation));
        !is_same
    }

    /// The next report lists every module.
    pub(crate) fn request_complete(&mut self) {
        self.complete_due = true;
    }

    /// Adds an event. The oldest are dropped and counted when there are too many.
    pub(crate) fn push(&mut self, at: Timestamp, what: AgentEventKind, message: &str) {
        let message = AgentMessage::new(message).as_str().to_owned();
        self.events.push(AgentEvent { at, what, message });
    }

    /// The report to send, if the server does not know everything. The caller saves the outbox before it sends a new one.
    pub(crate) fn prepare(
        &mut self,
        occasion: ReportOccasion,
        facts: impl FnOnce() -> HostFacts,
    ) -> Option<&ReportBody> {
        if self.sending.is_none() && (self.has_news() || occasion == ReportOccasion::Refresh) {
            let mut body = self.body(self.complete_due);
            body.sequence = self.take_sequence();
            (body.events, body.events_dropped) = self.events.take();
            body.host = body.complete.then(facts);
            self.complete_due = false;
            self.sending = Some(body);
        }
        self.sending.as_ref()
    }

    /// Whether a report is on its way.
    pub(crate) fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// The server received a report.
    pub(crate) fn acknowledge(&mut self, receipt: &ReportReceipt, at: Timestamp) {
        if let Some(sent) = self.sending.take_if(|sent| sent.sequence == receipt.sequence) {
            match receipt.newer {
                None => self.acknowledged.add(&sent),
                Some(newer) => self.continue_after(newer, sent),
            }
        }
        self.complete_due |= receipt.send_complete;
        self.heard_at = Some(at);
    }

    /// The server has reports that this agent no longer knows of, and stored nothing of the one that was sent.
    fn continue_after(&mut self, newer: NewerReport, ignored: ReportBody) {
        self.generation = self.generation.max(newer.generation);
        self.next = self.next.max(newer.sequence.saturating_add(1));
        self.acknowledged = Acknowledged::default();
        self.complete_due = true;
        self.events.put_back(ignored.events, ignored.events_dropped);
    }

    /// The server never stores the report on its way. Its events are lost and counted; the rest is reported anew.
    pub(crate) fn give_up_sending(&mut self) {
        if let Some(refused) = self.sending.take() {
            self.events.count_dropped(refused.events.len() as u64);
            self.events.count_dropped(refused.events_dropped);
            self.complete_due = true;
        }
    }

    /// Whether the server does not know everything that the agent sees.
    pub(crate) fn has_news(&self) -> bool {
        self.complete_due
            || !self.events.is_empty()
            || !self.acknowledged.knows_target(&self.view, self.generation)
            || self.view.modules.keys().any(|name| !self.acknowledged.knows_module(&self.view, name))
    }

    fn take_sequence(&mut self) -> u64 {
        if self.next >= self.reserved {
            self.reserved = self.next.saturating_add(SEQUENCE_BLOCK);
        }
        let sequence = self.next;
        self.next = sequence.saturating_add(1);
        sequence
    }

    /// A report without number and events.
    fn body(&self, complete: bool) -> ReportBody {
        let is_listed = |name: &str| complete || !self.acknowledged.knows_module(&self.view, name);
        let modules = self.view.modules.iter().filter(|(name, _)| is_listed(name));
        let modules = modules.map(|(name, observation)| ModuleObservation {
            name: name.clone(),
            observation: observation.clone(),
        });
        let modules: Vec<ModuleObservation> = modules.collect();
        let drift = self.view.drift.iter().filter(|item| is_listed(&item.module)).cloned().collect();
        let left_out = self.view.left_out.iter().filter(|(name, _)| is_listed(name));
        ReportBody {
            generation: self.generation,
            sequence: 0,
            complete,
            target: self.view.target.clone(),
            modules,
            drift,
            drift_left_out: left_out.map(|(_, count)| count).sum(),
            events: Vec::new(),
            events_dropped: 0,
            host: None,
        }
    }
}
