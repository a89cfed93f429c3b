//! How much of the drift and of the events fits into what the agent keeps and sends.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use windlass_api::agent::{
    AgentEvent, AgentEventKind, DriftedItem, MAX_DRIFTED_ITEMS, MAX_EVENTS, MAX_REPORT_BYTES,
};

/// The most bytes of drift in a report. The modules and the events have the rest.
const MAX_DRIFT_BYTES: usize = MAX_REPORT_BYTES / 2;
/// The most bytes of events in a report.
const MAX_EVENT_BYTES: usize = MAX_REPORT_BYTES / 4;
/// The most events that wait.
const MAX_WAITING: usize = 5 * MAX_EVENTS;
/// The most bytes of events that wait.
const MAX_WAITING_BYTES: usize = MAX_REPORT_BYTES;
/// The most bytes of one event.
const MAX_ONE_EVENT: usize = 64 * 1024;

/// The items that are listed, and how many of each module are not.
pub(super) fn listed_drift(items: Vec<DriftedItem>) -> (Vec<DriftedItem>, BTreeMap<String, u64>) {
    let (mut listed, mut left_out, mut bytes) = (Vec::new(), BTreeMap::new(), 0);
    for item in items {
        let size = json_bytes(&item);
        if listed.len() < MAX_DRIFTED_ITEMS && bytes + size <= MAX_DRIFT_BYTES {
            bytes += size;
            listed.push(item);
        } else {
            *left_out.entry(item.module).or_insert(0) += 1;
        }
    }
    (listed, left_out)
}

/// Events that wait to be reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct WaitingEvents {
    events: VecDeque<AgentEvent>,
    /// The bytes of all of them as JSON.
    bytes: usize,
    dropped: u64,
}

impl WaitingEvents {
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.dropped == 0
    }

    /// Adds an event. The oldest are dropped and counted when there are too many.
    pub(super) fn push(&mut self, mut event: AgentEvent) {
        let mut size = json_bytes(&event);
        if size > MAX_ONE_EVENT
            && let AgentEventKind::Corrected { fields, .. } = &mut event.what
        {
            fields.clear();
            size = json_bytes(&event);
        }
        self.bytes += size;
        self.events.push_back(event);
        while self.events.len() > MAX_WAITING || self.bytes > MAX_WAITING_BYTES {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(json_bytes(&oldest));
            self.count_dropped(1);
        }
    }

    pub(super) fn count_dropped(&mut self, count: u64) {
        self.dropped = self.dropped.saturating_add(count);
    }

    /// Puts back what was taken and not reported.
    pub(super) fn put_back(&mut self, events: Vec<AgentEvent>, dropped: u64) {
        let newer = std::mem::take(&mut self.events);
        self.bytes = 0;
        events.into_iter().chain(newer).for_each(|event| self.push(event));
        self.count_dropped(dropped);
    }

    /// Takes the oldest events, as many as fit into a report, and the number of those that were dropped.
    pub(super) fn take(&mut self) -> (Vec<AgentEvent>, u64) {
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while let Some(next) = self.events.front() {
            let size = json_bytes(next);
            if taken.len() >= MAX_EVENTS || (bytes + size > MAX_EVENT_BYTES && !taken.is_empty()) {
                break;
            }
            bytes += size;
            taken.extend(self.events.pop_front());
        }
        self.bytes = self.bytes.saturating_sub(bytes);
        (taken, std::mem::take(&mut self.dropped))
    }
}

fn json_bytes(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |bytes| bytes.len())
}
