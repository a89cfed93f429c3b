//! What the server knows after all reports, as `ObservedTarget::merge` would have it.

use std::collections::BTreeMap;

use windlass_api::agent::{
    AgentEvent, AgentEventKind, DriftedItem, NewerReport, ObservationBody, ObservedBody, ReportBody,
};
use windlass_core::digest::Digest;

/// What the server knows.
#[derive(Default)]
pub(super) struct MergedReports {
    pub(super) order: (u64, u64),
    pub(super) target: Option<ObservationBody>,
    pub(super) modules: BTreeMap<String, ObservationBody>,
    pub(super) drift: Vec<DriftedItem>,
    pub(super) events: Vec<AgentEvent>,
}

/// What counts of a module or a node, without times.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Summary {
    digest: Option<Digest>,
    generation: Option<u64>,
    failure: Option<(u64, String)>,
}

impl Summary {
    fn of(observation: &ObservationBody) -> Summary {
        let (digest, generation) = match &observation.observed {
            ObservedBody::Known { digest, generation, .. } => (Some(*digest), Some(*generation)),
            ObservedBody::Absent { generation, .. } => (None, Some(*generation)),
            _ => (None, None),
        };
        let failure =
            observation.failure.as_ref().map(|failure| (failure.generation, failure.message.clone()));
        Summary { digest, generation, failure }
    }
}

impl MergedReports {
    /// Merges a report. Nothing of an older one is stored, not even its events; the newest one is returned then.
    pub(super) fn merge(&mut self, report: &ReportBody) -> Option<NewerReport> {
        let order = (report.generation, report.sequence);
        if order <= self.order {
            let (generation, sequence) = self.order;
            return (order < self.order).then_some(NewerReport { generation, sequence });
        }
        self.order = order;
        self.events.extend(report.events.iter().cloned());
        self.target = Some(report.target.clone());
        if report.complete {
            self.modules.clear();
            self.drift.clear();
        }
        for module in &report.modules {
            self.modules.insert(module.name.clone(), module.observation.clone());
            self.drift.retain(|item| item.module != module.name);
        }
        self.drift.extend(report.drift.iter().cloned());
        None
    }

    /// Whether the node is what a document says, in a generation.
    pub(super) fn is_in_sync(&self, generation: u64, digest: Digest) -> bool {
        let wanted = Summary { digest: Some(digest), generation: Some(generation), failure: None };
        self.order.0 == generation && self.target.as_ref().is_some_and(|target| Summary::of(target) == wanted)
    }

    /// Everything that counts, without times and numbers.
    pub(super) fn summary(&self) -> (Option<Summary>, BTreeMap<String, Summary>, Vec<String>) {
        let modules = self.modules.iter().map(|(name, one)| (name.clone(), Summary::of(one))).collect();
        let drift =
            self.drift.iter().map(|item| format!("{} {} {:?}", item.kind, item.name, item.fields)).collect();
        (self.target.as_ref().map(Summary::of), modules, drift)
    }

    pub(super) fn failure(&self) -> Option<(u64, String)> {
        Summary::of(self.target.as_ref()?).failure
    }

    /// The refusals that were reported: reason and generation.
    pub(super) fn refusals(&self) -> Vec<(String, Option<u64>)> {
        let refusals = self.events.iter().filter_map(|event| match &event.what {
            AgentEventKind::Refused { reason, generation } => Some((reason.clone(), *generation)),
            _ => None,
        });
        refusals.collect()
    }

    pub(super) fn has_event(&self, is_meant: impl Fn(&AgentEventKind) -> bool) -> bool {
        self.events.iter().any(|event| is_meant(&event.what))
    }
}
