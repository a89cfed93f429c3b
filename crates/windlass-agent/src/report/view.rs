//! What the agent knows of its host: the node as a whole, each module, and the items that differ.
//!
//! The digests say what the server compares: those of the document and of its modules while the host is in sync, and
//! otherwise digests of the differences. They change when the differences do, and not each time the agent looks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use windlass_api::agent::{DriftedItem, FailureBody, ObservationBody, ObservedBody};
use windlass_core::digest::Digest;
use windlass_core::host::{NodeDocument, NodeModule};
use windlass_core::observed::AgentMessage;
use windlass_core::time::Timestamp;

use super::budget;
use crate::target::host::ItemDrift;

/// What the agent knows of its host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostView {
    /// The node as a whole.
    pub(crate) target: ObservationBody,
    /// Its modules, by name.
    pub(crate) modules: BTreeMap<String, ObservationBody>,
    /// The items that differ, in the order of the state.
    pub(crate) drift: Vec<DriftedItem>,
    /// How many more items of a module differ than are listed.
    pub(crate) left_out: BTreeMap<String, u64>,
}

/// What the agent found when it looked.
#[derive(Clone, Debug)]
pub(crate) struct LookResult<'l> {
    /// What the node shall be.
    pub(crate) document: &'l NodeDocument,
    /// Its generation.
    pub(crate) generation: u64,
    /// The items that differ.
    pub(crate) drift: Vec<ItemDrift>,
    /// What could not be applied.
    pub(crate) failures: ApplyFailures,
    /// When the agent looked.
    pub(crate) at: Timestamp,
}

/// What the agent could not apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ApplyFailures {
    /// The generation that it tried to apply.
    pub(crate) generation: u64,
    /// Why the node as a whole is not as it should be.
    pub(crate) target: Option<String>,
    /// The modules that failed, each with the reason.
    pub(crate) modules: BTreeMap<String, String>,
}

impl HostView {
    /// A host on which the agent has made nothing yet.
    pub(crate) fn of_nothing(at: Timestamp) -> HostView {
        let observed = ObservedBody::Absent { generation: 0, since: at, at };
        HostView {
            target: ObservationBody { observed, failure: None },
            modules: BTreeMap::new(),
            drift: Vec::new(),
            left_out: BTreeMap::new(),
        }
    }

    /// The view after the agent looked. What is the same as before keeps the time since when it is so.
    pub(crate) fn after_look(&self, look: LookResult<'_>) -> HostView {
        let (drift, left_out) = budget::listed_drift(self.drift_items(&look));
        let modules = look.document.modules.iter().map(|module| {
            let before = self.modules.get(&module.name);
            let of_module = look.drift.iter().filter(|drift| drift.module == module.name);
            let seen = seen(module.digest(), of_module);
            let failure = look.failures.modules.get(&module.name);
            (module.name.clone(), observation(before, seen, failure, &look))
        });
        let modules = modules.collect();
        let seen = seen(look.document.digest(), look.drift.iter());
        let failure = look.failures.summary();
        let target = observation(Some(&self.target), seen, failure.as_ref(), &look);
        HostView { target, modules, drift, left_out }
    }

    /// The view while the agent changes these modules. It claims nothing about them.
    pub(crate) fn while_changing<'m>(
        &self,
        changing: impl Iterator<Item = &'m NodeModule>,
        at: Timestamp,
    ) -> HostView {
        let mut view = self.clone();
        view.target.observed = being_changed(&view.target.observed, at);
        for module in changing {
            let failure = self.modules.get(&module.name).and_then(|before| before.failure.clone());
            let before = self.modules.get(&module.name).map(|before| &before.observed);
            let observed =
                before.map_or(ObservedBody::BeingChanged { since: at }, |before| being_changed(before, at));
            view.modules.insert(module.name.clone(), ObservationBody { observed, failure });
            view.drift.retain(|item| item.module != module.name);
            view.left_out.remove(&module.name);
        }
        view
    }

    /// The view when the agent cannot look at all.
    pub(crate) fn unreadable(&self, problem: &str, failures: &ApplyFailures, at: Timestamp) -> HostView {
        let mut view = self.clone();
        let since = match &self.target.observed {
            ObservedBody::Unreadable { since, .. } => *since,
            _ => at,
        };
        view.target.observed = ObservedBody::Unreadable { since, message: message(problem) };
        if let Some(failure) = failures.summary() {
            view.target.failure =
                Some(failure_body(self.target.failure.as_ref(), failures.generation, &failure, at));
        }
        view
    }

    /// Notes that a generation could not be applied at all, and leaves the rest.
    pub(crate) fn with_failure(&self, generation: u64, problem: &str, at: Timestamp) -> HostView {
        let mut view = self.clone();
        view.target.failure = Some(failure_body(self.target.failure.as_ref(), generation, problem, at));
        view
    }

    fn drift_items(&self, look: &LookResult<'_>) -> Vec<DriftedItem> {
        let items = look.drift.iter().map(|drift| {
            let (fields, problem) = match &drift.found {
                Ok(fields) => (fields.clone(), None),
                Err(problem) => (Vec::new(), Some(message(problem))),
            };
            let (kind, name, module) =
                (drift.item.kind.to_owned(), drift.item.name.clone(), drift.module.clone());
            let mut item =
                DriftedItem { kind, name, module, mode: drift.mode, since: look.at, fields, problem };
            let before =
                self.drift.iter().find(|before| (&before.kind, &before.name) == (&item.kind, &item.name));
            if let Some(before) =
                before.filter(|before| (&before.fields, &before.problem) == (&item.fields, &item.problem))
            {
                item.since = before.since;
            }
            item
        });
        items.collect()
    }
}

/// What the agent saw of a module or of the node.
enum SeenState {
    Digest(Digest),
    Unreadable(String),
}

/// In sync without differences. Differences that the agent could compare count more than those that it could not.
fn seen<'d>(in_sync: Digest, drift: impl Iterator<Item = &'d ItemDrift>) -> SeenState {
    let (mut differences, mut problem) = (Vec::new(), None);
    for item in drift {
        match &item.found {
            Ok(fields) => differences.push((item.item.to_string(), fields)),
            Err(reason) => {
                problem.get_or_insert_with(|| format!("{}: {reason}", item.item));
            }
        }
    }
    match (differences.is_empty(), problem) {
        (true, None) => SeenState::Digest(in_sync),
        (true, Some(problem)) => SeenState::Unreadable(message(&problem)),
        (false, _) => {
            let bytes = serde_json::to_vec(&differences).expect("differences are JSON");
            SeenState::Digest(Digest::of_parts([b"drift".as_slice(), in_sync.as_bytes(), &bytes]))
        }
    }
}

fn observation(
    before: Option<&ObservationBody>,
    seen: SeenState,
    failure: Option<&String>,
    look: &LookResult<'_>,
) -> ObservationBody {
    let (generation, at) = (look.generation, look.at);
    let observed = match (seen, before.map(|before| &before.observed)) {
        (SeenState::Digest(digest), Some(ObservedBody::Known { digest: known, since, .. }))
            if digest == *known =>
        {
            ObservedBody::Known { digest, generation, since: *since, at }
        }
        (SeenState::Digest(digest), _) => ObservedBody::Known { digest, generation, since: at, at },
        (SeenState::Unreadable(message), Some(ObservedBody::Unreadable { since, .. })) => {
            ObservedBody::Unreadable { since: *since, message }
        }
        (SeenState::Unreadable(message), _) => ObservedBody::Unreadable { since: at, message },
    };
    let failed = before.and_then(|before| before.failure.as_ref());
    let failure = failure.map(|problem| failure_body(failed, look.failures.generation, problem, at));
    ObservationBody { observed, failure }
}

fn being_changed(before: &ObservedBody, at: Timestamp) -> ObservedBody {
    match before {
        ObservedBody::BeingChanged { since } => ObservedBody::BeingChanged { since: *since },
        _ => ObservedBody::BeingChanged { since: at },
    }
}

/// A failure of a generation keeps the time of its first attempt.
fn failure_body(before: Option<&FailureBody>, generation: u64, problem: &str, at: Timestamp) -> FailureBody {
    let before = before.filter(|before| before.generation == generation);
    FailureBody { generation, since: before.map_or(at, |before| before.since), message: message(problem) }
}

/// A text that fits into a report.
fn message(text: &str) -> String {
    AgentMessage::new(text).as_str().to_owned()
}

impl ApplyFailures {
    /// One sentence for the whole node.
    pub(crate) fn summary(&self) -> Option<String> {
        if let Some(problem) = &self.target {
            return Some(problem.clone());
        }
        let (module, problem) = self.modules.first_key_value()?;
        let more = self.modules.len() - 1;
        Some(match more {
            0 => format!("module {module}: {problem}"),
            more => format!("module {module}: {problem}; and {more} more modules"),
        })
    }
}
