//! The reports of one transaction, merged target by target.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use windlass_core::agent::Agent;
use windlass_core::drift::DriftedItem;
use windlass_core::host::MAX_MODULES;
use windlass_core::id::AccountId;
use windlass_core::observed::{Coverage, ObservedTarget, ReportOrder};
use windlass_core::resource::{Kind, ResourceKey};

use crate::reports::agent_event::CheckedEvent;
use crate::reports::check::CheckedReport;

/// A target, by account.
pub(crate) type TargetKey = (AccountId, ResourceKey);

/// What the reports of a group say of one target.
#[derive(Debug, Default)]
pub(crate) struct MergedTarget {
    /// The observed state as it is stored.
    pub(crate) before: ObservedTarget,
    /// The observed state with the reports.
    pub(crate) after: ObservedTarget,
    /// The items of the modules that newer reports listed, each with its place in the list.
    pub(crate) listed: BTreeMap<String, Vec<(usize, DriftedItem)>>,
    /// How many more items differ; none if no report says.
    pub(crate) left_out: Option<u64>,
    /// What happened, of reports that were not stored before.
    pub(crate) events: Vec<CheckedEvent>,
    /// How many events the agent dropped.
    pub(crate) events_dropped: u64,
    /// About the host.
    pub(crate) facts: Option<Json>,
    /// Whether one of the reports was complete.
    pub(crate) is_complete: bool,
}

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergedReport {
    /// It was merged, or everything in it was known.
    Merged {
        /// Whether the server needs a complete report.
        needs_complete: bool,
        /// The newest report, if it is newer than this one.
        newer: Option<ReportOrder>,
    },
    /// Together with earlier reports, it lists more modules than a node can have.
    TooManyModules,
    /// The agent was revoked.
    Revoked,
}

impl MergedTarget {
    pub(crate) fn new(before: ObservedTarget) -> MergedTarget {
        MergedTarget { after: before.clone(), before, ..MergedTarget::default() }
    }

    /// Merges a report.
    pub(crate) fn merge(&mut self, checked: &CheckedReport) -> MergedReport {
        let order = checked.report.order;
        let is_new = self.after.whole.as_ref().is_none_or(|whole| whole.order < order);
        let mut after = self.after.clone();
        after.merge(&checked.report);
        if after.resources.len() > MAX_MODULES {
            return MergedReport::TooManyModules;
        }
        self.after = after;
        self.list_items(checked, order);
        if is_new {
            self.take_news(checked);
        }
        let needs_complete =
            self.after.complete_as_of.is_none_or(|complete| complete.enrolment < order.enrolment);
        let newer = self.after.whole.as_ref().map(|whole| whole.order).filter(|newest| *newest > order);
        MergedReport::Merged { needs_complete, newer }
    }

    /// Takes the items of the modules for which this is the newest report.
    fn list_items(&mut self, checked: &CheckedReport, order: ReportOrder) {
        let newest = checked.report.resources.iter().map(|(_, name, _)| name).filter(|name| {
            self.after.resources.get(Kind::Module, name).is_some_and(|stored| stored.order == order)
        });
        for module in newest {
            let items = checked.items.iter().enumerate().filter(|(_, item)| item.module == *module);
            let items = items.map(|(place, item)| (place, item.clone())).collect();
            self.listed.insert(module.to_owned(), items);
        }
    }

    /// Takes what is said once. A report that is sent again has no news.
    fn take_news(&mut self, checked: &CheckedReport) {
        let is_complete = checked.report.coverage == Coverage::Complete;
        if is_complete || checked.left_out > 0 {
            self.left_out = Some(checked.left_out);
        }
        self.is_complete |= is_complete;
        self.events.extend(checked.events.iter().cloned());
        self.events_dropped += checked.events_dropped;
        if let Some(facts) = &checked.facts {
            self.facts = Some(facts.clone());
        }
    }

    /// The modules that are observed.
    pub(crate) fn modules(&self) -> BTreeSet<&str> {
        self.after
            .resources
            .iter()
            .filter(|(kind, ..)| *kind == Kind::Module)
            .map(|(_, name, _)| name)
            .collect()
    }
}

/// Merges the reports of a group, each into the state of its agent's target. `agents` are those that were not revoked.
pub(crate) fn merge_group<'g>(
    reports: impl IntoIterator<Item = (&'g Agent, &'g CheckedReport)>,
    agents: &[Agent],
    mut observed: BTreeMap<TargetKey, ObservedTarget>,
) -> (BTreeMap<TargetKey, MergedTarget>, Vec<MergedReport>) {
    let mut targets: BTreeMap<TargetKey, MergedTarget> = BTreeMap::new();
    let mut results = Vec::new();
    for (caller, checked) in reports {
        let known = agents.iter().find(|agent| agent.id == caller.id);
        let Some(agent) = known else {
            results.push(MergedReport::Revoked);
            continue;
        };
        let key = (agent.account_id.clone(), agent.target.clone());
        let merged = targets
            .entry(key.clone())
            .or_insert_with(|| MergedTarget::new(observed.remove(&key).unwrap_or_default()));
        results.push(merged.merge(checked));
    }
    (targets, results)
}
