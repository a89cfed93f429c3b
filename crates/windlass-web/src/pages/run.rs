//! One sync run: what it read, the differences by kind, and the state of each change.

use std::collections::BTreeMap;

use askama::Template;
use serde_json::Value;
use windlass_api::permission::Permission;
use windlass_api::types::{ActionInfo, ChangeSetInfo, RunInfo, RunProposal};
use windlass_core::code::ProblemSeverity;
use windlass_core::diff::Action;
use windlass_core::proposal::Status;
use windlass_core::run::{RunStatus, Stage};

use super::Allowed;
use super::repository::MASS_DESTROY;
use super::steps::{DecisionCounts, RunStep, steps};
use crate::frame::{Frame, NavEntry};
use crate::words;

/// The most names shown of one kind and change; the rest is counted.
const NAMES_SHOWN: usize = 40;

/// The most skipped actions shown; the rest is counted.
const SKIPPED_SHOWN: usize = 100;

/// The most blockers shown; the rest is counted.
const BLOCKERS_SHOWN: usize = 8;

/// The most groups of identical changes shown; the rest is counted.
const GROUPS_SHOWN: usize = 20;

/// The tab over a run's proposals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProposalTab {
    /// All proposals.
    #[default]
    All,
    /// Proposals that await approval.
    Waiting,
    /// Approved proposals that are not applied yet.
    Approved,
    /// Applied proposals.
    Applied,
    /// Failed proposals.
    Failed,
    /// Proposals that were closed without being applied.
    NotApplied,
}

impl ProposalTab {
    const EACH: [ProposalTab; 6] = [
        ProposalTab::All,
        ProposalTab::Waiting,
        ProposalTab::Approved,
        ProposalTab::Applied,
        ProposalTab::Failed,
        ProposalTab::NotApplied,
    ];

    /// The tab with this spelling; all for anything else.
    pub fn of(word: &str) -> ProposalTab {
        ProposalTab::EACH.into_iter().find(|show| show.slug() == word).unwrap_or_default()
    }

    /// The spelling in URLs.
    pub const fn slug(self) -> &'static str {
        match self {
            ProposalTab::All => "",
            ProposalTab::Waiting => "waiting",
            ProposalTab::Approved => "approved",
            ProposalTab::Applied => "applied",
            ProposalTab::Failed => "failed",
            ProposalTab::NotApplied => "not-applied",
        }
    }

    /// The statuses it includes; empty for all.
    pub const fn statuses(self) -> &'static [Status] {
        match self {
            ProposalTab::All => &[],
            ProposalTab::Waiting => &[Status::PendingApproval],
            ProposalTab::Approved => &[Status::Approved],
            ProposalTab::Applied => &[Status::Applied, Status::AppliedManually],
            ProposalTab::Failed => &[Status::Failed],
            ProposalTab::NotApplied => {
                &[Status::Rejected, Status::Superseded, Status::Withdrawn, Status::Expired]
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            ProposalTab::All => "All",
            ProposalTab::Waiting => "Awaiting approval",
            ProposalTab::Approved => "Approved",
            ProposalTab::Applied => "Applied",
            ProposalTab::Failed => "Failed",
            ProposalTab::NotApplied => "Not applied",
        }
    }
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "run.html")]
pub struct RunPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The run, with the proposals and actions of this page.
    pub run: RunInfo,
    /// The number of its proposals in each status.
    pub tally: BTreeMap<Status, usize>,
    /// The time of the last decision.
    pub decided_at: Option<String>,
    /// The tab that is shown.
    pub show: ProposalTab,
    /// Where the list goes on.
    pub next: Option<String>,
}

/// The differences of one kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KindDiff {
    pub(crate) kind: String,
    /// Change, number, the names that are shown, and how many are not.
    pub(crate) changes: Vec<(Action, usize, Vec<String>, usize)>,
}

/// A tab over a run's proposals.
pub(crate) struct TabLink {
    pub(crate) slug: &'static str,
    pub name: &'static str,
    pub(crate) count: usize,
    pub(crate) is_here: bool,
}

pub(crate) fn by_kind(diff: &Value) -> Vec<KindDiff> {
    let mut kinds = Vec::new();
    collect(diff, &mut kinds);
    kinds
}

impl RunPage {
    pub(crate) fn kinds(&self) -> Vec<KindDiff> {
        by_kind(&self.run.diff)
    }

    /// The differences that were left after applying; `None` before.
    pub(crate) fn remaining_differences(&self) -> Option<Vec<KindDiff>> {
        self.run.drift_after_apply.as_ref().map(by_kind)
    }

    pub(crate) fn steps(&self) -> Vec<RunStep> {
        let decided = DecisionCounts {
            pending: self.pending(),
            approved: self.count(ProposalTab::Approved),
            failed: self.failed(),
            at: self.decided_at.clone(),
        };
        steps(&self.run, &decided)
    }

    fn count(&self, show: ProposalTab) -> usize {
        let statuses = show.statuses();
        let counts = |(status, _): &(&Status, &usize)| statuses.is_empty() || statuses.contains(status);
        self.tally.iter().filter(counts).map(|(_, count)| count).sum()
    }

    /// The number of proposals.
    pub(crate) fn total(&self) -> usize {
        self.count(ProposalTab::All)
    }

    pub(crate) fn pending(&self) -> usize {
        self.count(ProposalTab::Waiting)
    }

    pub(crate) fn failed(&self) -> usize {
        self.count(ProposalTab::Failed)
    }

    /// The tabs: all, and those that are not empty.
    pub(crate) fn tabs(&self) -> Vec<TabLink> {
        let choice = |show: ProposalTab| TabLink {
            slug: show.slug(),
            name: show.name(),
            count: self.count(show),
            is_here: show == self.show,
        };
        let is_there = |choice: &TabLink| choice.count > 0 || choice.is_here || choice.slug.is_empty();
        ProposalTab::EACH.into_iter().map(choice).filter(is_there).collect()
    }

    /// The proposals of this page, each with its action.
    pub(crate) fn rows(&self) -> Vec<(&RunProposal, Option<&ActionInfo>)> {
        let run = &self.run;
        let actions: BTreeMap<&str, &ActionInfo> =
            [&run.applied_actions, &run.failed_actions, &run.skipped_actions]
                .into_iter()
                .flatten()
                .filter_map(|action| Some((action.proposal_id.as_deref()?, action)))
                .collect();
        run.proposals.iter().map(|proposal| (proposal, actions.get(proposal.id.as_str()).copied())).collect()
    }

    /// Whether there are details about a proposal besides its status.
    pub(crate) fn has_details(&self, proposal: &RunProposal, action: &Option<&ActionInfo>) -> bool {
        match action {
            Some(action) => action.reason.is_some(),
            None => !proposal.blocked_by.is_empty(),
        }
    }

    /// Differences that were not proposed, and how many more there are.
    pub(crate) fn skipped(&self) -> (Vec<&ActionInfo>, usize) {
        let all = || self.run.skipped_actions.iter().filter(|action| action.proposal_id.is_none());
        (all().take(SKIPPED_SHOWN).collect(), all().count().saturating_sub(SKIPPED_SHOWN))
    }

    /// What blocks the run, and how many more blockers there are.
    pub(crate) fn blockers(&self) -> (&[String], usize) {
        let blockers = &self.run.waiting_for;
        let shown = blockers.len().min(BLOCKERS_SHOWN);
        (&blockers[..shown], blockers.len() - shown)
    }

    /// Whether the mass-destroy guard stopped it.
    pub(crate) fn is_stopped(&self) -> bool {
        self.run.error.as_ref().is_some_and(|error| error.code == MASS_DESTROY)
    }

    /// The sets of the plan that can be approved as one, and how many more groups there are. A group that is the whole
    /// plan is not listed twice.
    pub(crate) fn sets(&self) -> (Vec<&ChangeSetInfo>, usize) {
        let sets = &self.run.sets;
        let whole = sets.first().map_or(0, |set| set.count);
        let groups: Vec<&ChangeSetInfo> = sets.iter().skip(1).filter(|set| set.count < whole).collect();
        let more = groups.len().saturating_sub(GROUPS_SHOWN);
        (sets.iter().take(1).chain(groups.into_iter().take(GROUPS_SHOWN)).collect(), more)
    }

    /// Whether something in its plan can still be approved.
    pub(crate) fn has_undecided(&self) -> bool {
        self.pending() > 0 || self.run.remaining > 0
    }

    pub(crate) fn may_approve(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsApprove))
    }

    /// Whether the user may confirm a mass destroy.
    pub(crate) fn may_confirm(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsApprove))
    }

    /// The commit.
    pub(crate) fn commit(&self) -> &str {
        self.run.commit_sha.as_deref().unwrap_or_default()
    }
}

/// Collects kinds from the top level, or one level down, as for the SD-WAN.
fn collect(diff: &Value, kinds: &mut Vec<KindDiff>) {
    let Value::Object(map) = diff else { return };
    for (kind, below) in map {
        let names = |key: &str| below.get(key).and_then(Value::as_array);
        if names("add").or(names("update")).or(names("delete")).is_none() {
            collect(below, kinds);
            continue;
        }
        let changes: Vec<_> =
            [(Action::Create, "add"), (Action::Update, "update"), (Action::Destroy, "delete")]
                .into_iter()
                .filter_map(|(change, key)| Some((change, names(key).filter(|names| !names.is_empty())?)))
                .map(|(change, names)| {
                    let shown = names.iter().take(NAMES_SHOWN).map(name_of).collect();
                    (change, names.len(), shown, names.len().saturating_sub(NAMES_SHOWN))
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
