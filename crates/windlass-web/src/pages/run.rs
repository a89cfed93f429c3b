//! One sync run: what it read, what differs by kind, what became of each change.

use std::collections::BTreeMap;

use askama::Template;
use serde_json::Value;
use windlass_api::types::{ActionInfo, RunInfo, RunProposal};

use crate::frame::{Frame, Place};
use crate::words;

/// Names of one kind and change that are shown before the rest is only counted.
const NAMES_SHOWN: usize = 40;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "run.html")]
pub struct Run {
    /// What surrounds it.
    pub frame: Frame,
    /// The run.
    pub run: RunInfo,
}

/// What differs of one kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KindDiff {
    pub(crate) kind: String,
    /// Change, names that are shown, how many are not.
    pub(crate) changes: Vec<(&'static str, Vec<String>, usize)>,
}

/// One step of a run's life.
pub(crate) struct Step {
    pub(crate) what: &'static str,
    pub(crate) at: Option<String>,
}

impl Run {
    pub(crate) fn kinds(&self) -> Vec<KindDiff> {
        let mut kinds = Vec::new();
        collect(&self.run.diff, &mut kinds);
        kinds
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        let run = &self.run;
        let finished = if run.error.is_some() { "failed" } else { "compared" };
        vec![
            Step { what: "asked for", at: Some(run.created_at.clone()) },
            Step { what: "begun", at: run.started_at.clone() },
            Step { what: finished, at: run.completed_at.clone() },
            Step { what: "settled", at: run.applied_at.clone() },
        ]
    }

    /// How many proposals are in each state.
    pub(crate) fn tally(&self) -> BTreeMap<&str, usize> {
        let mut tally = BTreeMap::new();
        for proposal in &self.run.proposals {
            *tally.entry(proposal.status.as_str()).or_default() += 1;
        }
        tally
    }

    /// What became of the changes: title, tone, actions.
    pub(crate) fn outcomes(&self) -> Vec<(&'static str, &'static str, &[ActionInfo])> {
        let run = &self.run;
        vec![
            ("Applied", "good", &run.applied_actions),
            ("Failed", "bad", &run.failed_actions),
            ("Not applied", "calm", &run.skipped_actions),
        ]
    }

    pub(crate) fn pending(&self) -> usize {
        let is_pending = |proposal: &&RunProposal| proposal.status == "pending_approval";
        self.run.proposals.iter().filter(is_pending).count()
    }
}

/// Kinds stand at the top, or one level down as those of the SD-WAN do.
fn collect(diff: &Value, kinds: &mut Vec<KindDiff>) {
    let Value::Object(map) = diff else { return };
    for (kind, below) in map {
        let names = |key: &str| below.get(key).and_then(Value::as_array);
        if names("add").or(names("update")).or(names("delete")).is_none() {
            collect(below, kinds);
            continue;
        }
        let changes: Vec<_> = [("create", "add"), ("update", "update"), ("destroy", "delete")]
            .into_iter()
            .filter_map(|(change, key)| Some((change, names(key).filter(|names| !names.is_empty())?)))
            .map(|(change, names)| {
                let shown = names.iter().take(NAMES_SHOWN).map(name_of).collect();
                (change, shown, names.len().saturating_sub(NAMES_SHOWN))
            })
            .collect();
        if !changes.is_empty() {
            kinds.push(KindDiff { kind: kind.clone(), changes });
        }
    }
}

fn name_of(value: &Value) -> String {
    let name = value.as_str().or_else(|| value.get("name").and_then(Value::as_str));
    name.map_or_else(|| words::value(value), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn kinds_are_found_at_the_top_and_below_the_sd_wan() {
        let diff = json!({"nodes": {"add": ["a"], "update": [], "delete": ["b"]},
            "sdwan": {"peers": {"add": [], "update": ["c"], "delete": []}}, "modules": {"add": [], "update": [], "delete": []}});
        let mut kinds = Vec::new();
        collect(&diff, &mut kinds);
        let told: Vec<_> = kinds.iter().map(|kind| (kind.kind.as_str(), kind.changes.len())).collect();
        assert_eq!(told, [("nodes", 2), ("peers", 1)]);
    }
}
