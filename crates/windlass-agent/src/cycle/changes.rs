//! What a run changed and what failed, as events and failures.

use std::collections::{BTreeMap, BTreeSet};

use windlass_api::agent::{AgentEventKind, DriftedItem};
use windlass_core::host::NodeDocument;

use crate::report::ApplyFailures;
use crate::target::host::{ItemOutcome, RunReport};

/// An event and its sentence for people.
pub(super) type NewEvent = (AgentEventKind, String);

/// The most items that an event names.
const MAX_NAMED: usize = 50;

/// What failed in a run.
pub(super) fn failures(run: &RunReport, generation: u64) -> ApplyFailures {
    let mut modules: BTreeMap<String, String> = BTreeMap::new();
    for item in &run.items {
        if let ItemOutcome::Failed(reason) = &item.outcome {
            modules.entry(item.module.clone()).or_insert_with(|| format!("{}: {reason}", item.item));
        }
    }
    ApplyFailures { generation, target: None, modules }
}

/// The items that failed, by type and name.
pub(super) fn failed_items(run: &RunReport) -> Vec<String> {
    let failed = run.items.iter().filter(|item| matches!(item.outcome, ItemOutcome::Failed(_)));
    failed.take(MAX_NAMED).map(|item| item.item.to_string()).collect()
}

/// The events of a run that corrected drift.
pub(super) fn corrections(run: &RunReport) -> Vec<NewEvent> {
    let corrected = run.changes().map(|(report, _, fields)| {
        let (item, module) = (report.item.to_string(), report.module.clone());
        let message = format!("corrected {item} of module {module}");
        (AgentEventKind::Corrected { item, module, fields: fields.to_vec() }, message)
    });
    corrected.collect()
}

/// The modules that a run is about to change: those with a change, and those of which nothing certain is known.
pub(super) fn changing_modules(expected: &RunReport) -> BTreeSet<String> {
    let changing = expected.items.iter().filter(|item| item.outcome != ItemOutcome::Unchanged);
    changing.map(|item| item.module.clone()).collect()
}

/// The events between two lists of drifted items. Items that the agent corrected itself have events of their own.
pub(super) fn drift_events(
    before: &[DriftedItem],
    after: &[DriftedItem],
    document: &NodeDocument,
    corrected: &BTreeSet<String>,
) -> Vec<NewEvent> {
    let name = |item: &DriftedItem| format!("{} {}", item.kind, item.name);
    let names = |items: &[DriftedItem]| -> BTreeSet<String> { items.iter().map(name).collect() };
    let (known, found) = (names(before), names(after));
    let drifted = after.iter().filter(|item| !known.contains(&name(item))).map(|item| {
        let module = item.module.clone();
        let message = match &item.problem {
            Some(problem) => format!("cannot compare {}: {problem}", name(item)),
            None => format!("{} of module {module} was changed on the host", name(item)),
        };
        (AgentEventKind::Drifted { item: name(item), module }, message)
    });
    let is_still_ours =
        |item: &&DriftedItem| document.modules.iter().any(|module| module.name == item.module);
    let resolved =
        before.iter().filter(|item| !found.contains(&name(item)) && !corrected.contains(&name(item)));
    let resolved = resolved.filter(is_still_ours).map(|item| {
        let message = format!("{} of module {} is in sync again", name(item), item.module);
        (AgentEventKind::Resolved { item: name(item), module: item.module.clone() }, message)
    });
    drifted.chain(resolved).collect()
}
