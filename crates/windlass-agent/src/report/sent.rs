//! What the server has acknowledged, as digests, so that the agent sends only what changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use windlass_api::agent::{DriftedItem, ObservationBody, ObservedBody, ReportBody};
use windlass_core::digest::Digest;

use super::view::HostView;

/// Digests of what the server has acknowledged. The time of the last look is not part of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Acknowledged {
    target: Option<Digest>,
    modules: BTreeMap<String, Digest>,
}

impl Acknowledged {
    /// Adds a report that the server stored.
    pub(super) fn add(&mut self, report: &ReportBody) {
        if report.complete {
            self.modules.clear();
        }
        self.target = Some(digest(&report.target, report.generation, [].iter()));
        for module in &report.modules {
            let drift = report.drift.iter().filter(|item| item.module == module.name);
            self.modules.insert(module.name.clone(), digest(&module.observation, 0, drift));
        }
    }

    /// Whether the server knows what the agent sees of the node as a whole.
    pub(super) fn knows_target(&self, view: &HostView, generation: u64) -> bool {
        self.target == Some(digest(&view.target, generation, [].iter()))
    }

    /// Whether the server knows what the agent sees of a module.
    pub(super) fn knows_module(&self, view: &HostView, name: &str) -> bool {
        let Some(observation) = view.modules.get(name) else { return false };
        let drift = view.drift.iter().filter(|item| item.module == name);
        self.modules.get(name) == Some(&digest(observation, 0, drift))
    }
}

fn digest<'d>(
    observation: &ObservationBody,
    generation: u64,
    drift: impl Iterator<Item = &'d DriftedItem>,
) -> Digest {
    let mut observation = observation.clone();
    if let ObservedBody::Known { since, at, .. } | ObservedBody::Absent { since, at, .. } =
        &mut observation.observed
    {
        *at = *since;
    }
    let drift: Vec<&DriftedItem> = drift.collect();
    Digest::of(&serde_json::to_vec(&(generation, observation, drift)).expect("a report is JSON"))
}
