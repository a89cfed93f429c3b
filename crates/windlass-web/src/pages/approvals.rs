//! Proposals that await approval: by run, identical changes together, in the order in which they would be applied.

use std::collections::BTreeMap;

use askama::Template;
use serde_json::{Value, json};
use windlass_api::permission::Permission;
use windlass_api::types::{ChangeSetInfo, ProposalInfo, RunInfo};
use windlass_core::diff::Action;
use windlass_core::gate::ConsentState;
use windlass_core::proposal::Status;

use super::Allowed;
use crate::frame::{Frame, NavEntry};
use crate::words;

/// The most fields shown in a row.
const FIELDS_IN_ROW: usize = 3;

/// The most dependencies shown in a row.
const FIRST_IN_ROW: usize = 3;

/// The most names shown for a closed group.
const NAMES_IN_ROW: usize = 3;

/// The filter, as in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalSearch {
    /// Text in the name.
    pub q: String,
    /// A kind of resource.
    pub kind: String,
    /// `create`, `update` or `destroy`.
    pub change: String,
    /// A repository's name.
    pub repository: String,
    /// A run's id.
    pub run: String,
    /// The status; `pending_approval` by default, `open` for all open proposals.
    pub status: String,
}

impl ProposalSearch {
    pub(crate) fn is_filtered(&self) -> bool {
        [&self.q, &self.kind, &self.change, &self.repository, &self.run].iter().any(|word| !word.is_empty())
    }
}

/// The number of open proposals for each filter value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterCounts {
    /// By kind.
    pub kinds: BTreeMap<String, usize>,
    /// By change.
    pub changes: BTreeMap<String, usize>,
    /// By repository.
    pub repositories: BTreeMap<String, usize>,
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "approvals.html")]
pub struct ApprovalsPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The current filter.
    pub search: ProposalSearch,
    /// The filter values to choose from.
    pub choices: FilterCounts,
    /// The number of matching proposals.
    pub matching: usize,
    /// Where the list goes on.
    pub next: Option<String>,
    /// The URL of this page, to return to after a decision.
    pub here: String,
    /// The proposals of this page.
    pub runs: Vec<RunGroup>,
}

/// The proposals that one run opened.
#[derive(Clone, Debug)]
pub struct RunGroup {
    /// Its id.
    pub id: String,
    /// Its repository's name.
    pub repository: String,
    /// The run, if it still exists.
    pub run: Option<RunInfo>,
    /// Identical changes together, at the position of the first of them.
    pub same: Vec<IdenticalChanges>,
}

/// Proposals for the same change to several resources of one kind. Never empty.
#[derive(Clone, Debug)]
pub struct IdenticalChanges {
    /// The proposals, in apply order.
    pub proposals: Vec<ProposalRow>,
}

/// A proposal in the list.
#[derive(Clone, Debug)]
pub struct ProposalRow {
    /// The proposal.
    pub proposal: ProposalInfo,
    /// The changes it depends on: in words, and the proposal's id if it is on this page.
    pub after: Vec<(String, Option<String>)>,
}

/// A field as a row shows it.
pub struct FieldSummary {
    pub(crate) path: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// Groups proposals, which are sorted, by run, and joins identical ones.
pub fn group(proposals: Vec<ProposalInfo>, runs: &[RunInfo]) -> Vec<RunGroup> {
    let known: BTreeMap<String, String> = proposals
        .iter()
        .map(|proposal| (format!("{} {}", proposal.kind, proposal.name), proposal.id.clone()))
        .collect();
    let mut groups: Vec<RunGroup> = Vec::new();
    let mut seen: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
    for proposal in proposals {
        if groups.last().is_none_or(|group| group.id != proposal.run_id) {
            groups.push(RunGroup {
                id: proposal.run_id.clone(),
                repository: proposal.repository_name.clone(),
                run: runs.iter().find(|run| run.id == proposal.run_id).cloned(),
                same: Vec::new(),
            });
        }
        let run = groups.len() - 1;
        let key = (proposal.run_id.clone(), signature(&proposal));
        let (at, same) = *seen.entry(key).or_insert_with(|| {
            groups[run].same.push(IdenticalChanges { proposals: Vec::new() });
            (run, groups[run].same.len() - 1)
        });
        let after = proposal.waits_for.iter().map(|word| (word.clone(), known.get(word).cloned())).collect();
        groups[at].same[same].proposals.push(ProposalRow { proposal, after });
    }
    groups
}

/// The key by which two changes are identical: kind, cause and difference, without the name.
fn signature(proposal: &ProposalInfo) -> String {
    let what = match proposal.change {
        Action::Create => json!(proposal.desired),
        Action::Destroy => json!(proposal.current),
        Action::Update => json!(proposal.fields),
    };
    json!([proposal.kind, proposal.cause, proposal.status, what]).to_string()
}

impl ApprovalsPage {
    pub(crate) fn may_decide(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsApprove))
    }
}

impl RunGroup {
    /// The set of the run's whole plan, if it can be approved as one and has more than one change.
    pub(crate) fn whole_plan(&self) -> Option<&ChangeSetInfo> {
        let whole = self.run.as_ref()?.sets.first()?;
        (whole.count > 1).then_some(whole)
    }

    pub(crate) fn count_of(&self, change: &Action) -> usize {
        let is_so = |item: &&ProposalRow| item.proposal.change == *change;
        self.same.iter().flat_map(|same| &same.proposals).filter(is_so).count()
    }
}

impl IdenticalChanges {
    pub(crate) fn first(&self) -> &ProposalRow {
        &self.proposals[0]
    }

    pub(crate) fn is_many(&self) -> bool {
        self.proposals.len() > 1
    }

    /// The names of a closed group.
    pub(crate) fn names(&self) -> String {
        let mut names: Vec<&str> =
            self.proposals.iter().take(NAMES_IN_ROW).map(|item| item.proposal.name.as_str()).collect();
        if self.proposals.len() > NAMES_IN_ROW {
            names.push("…");
        }
        names.join(", ")
    }
}

impl IdenticalChanges {
    /// The changes that any of them depends on, and how many more there are than are shown.
    pub(crate) fn dependencies(&self) -> (Vec<&(String, Option<String>)>, usize) {
        let mut after: Vec<&(String, Option<String>)> = Vec::new();
        for first in self.proposals.iter().flat_map(|item| &item.after) {
            if !after.contains(&first) {
                after.push(first);
            }
        }
        let more = after.len().saturating_sub(FIRST_IN_ROW);
        after.truncate(FIRST_IN_ROW);
        (after, more)
    }

    /// Everything else that blocks any of them.
    pub(crate) fn other_blockers(&self) -> Vec<&String> {
        let mut waits: Vec<&String> = Vec::new();
        for item in &self.proposals {
            let reasons = words::other_reasons(&item.proposal.blocked_by, &item.proposal.waits_for);
            let new: Vec<&String> = reasons.into_iter().filter(|reason| !waits.contains(reason)).collect();
            waits.extend(new);
        }
        waits.truncate(FIRST_IN_ROW);
        waits
    }
}

impl ProposalRow {
    /// The value of the checkbox: the proposal and the digest of the reviewed content.
    pub(crate) fn selection_value(&self) -> String {
        format!("{}:{}", self.proposal.id, self.proposal.digest)
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.proposal.status == Status::PendingApproval
    }

    pub(crate) fn field_summaries(&self) -> Vec<FieldSummary> {
        all_field_summaries(&self.proposal).into_iter().take(FIELDS_IN_ROW).collect()
    }

    pub(crate) fn hidden_field_count(&self) -> usize {
        all_field_summaries(&self.proposal).len().saturating_sub(FIELDS_IN_ROW)
    }

    /// The state of the approvals, in a few words.
    pub(crate) fn policy(&self) -> String {
        let Some(gate) = &self.proposal.gate else { return words::state(self.proposal.status) };
        match gate.consent {
            ConsentState::Needed if gate.need > 1 => format!("{} of {} approvals", gate.have, gate.need),
            ConsentState::Needed => "1 approval".to_owned(),
            ConsentState::Refused => "Blocked".to_owned(),
            ConsentState::Granted => "Approved".to_owned(),
        }
    }

    pub(crate) fn policy_tone(&self) -> &'static str {
        self.proposal.gate.as_ref().map_or("calm", |gate| match gate.consent {
            ConsentState::Needed => "calm",
            other => words::tone(other),
        })
    }

    pub(crate) fn why_not_you(&self) -> Option<&str> {
        self.proposal.gate.as_ref().and_then(|gate| gate.why_not_you.as_deref())
    }
}

fn all_field_summaries(proposal: &ProposalInfo) -> Vec<FieldSummary> {
    if proposal.change == Action::Update {
        let field = |field: &windlass_api::types::FieldChange| FieldSummary {
            path: field.path.clone(),
            before: Some(words::value(&field.before)),
            after: Some(words::value(&field.after)),
        };
        return proposal.fields.iter().map(field).collect();
    }
    if proposal.change == Action::Destroy {
        return Vec::new();
    }
    let payload = proposal.edited_payload.as_ref().unwrap_or(&proposal.payload);
    let Value::Object(map) = payload else { return Vec::new() };
    // The row already shows the name, as a whole or in parts.
    let is_name = |value: &Value| {
        value.as_str().is_some_and(|text| {
            text == proposal.name || proposal.name.split(['/', ':']).any(|part| part == text)
        })
    };
    map.iter()
        .filter(|(_, value)| !is_name(value))
        .map(|(path, value)| FieldSummary {
            path: path.clone(),
            before: None,
            after: Some(words::value(value)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal(run: &str, name: &str, desired: Value, waits_for: &[&str]) -> ProposalInfo {
        let text = json!({
            "id": format!("id-{name}"), "repository_id": "r", "repository_name": "fleet", "run_id": run,
            "action": "create_node", "kind": "node", "name": name, "change": "create", "cause": "declared",
            "explanation": "", "payload": {"name": name}, "current": null, "desired": desired, "fields": [],
            "edited_payload": null, "edited_by": null, "digest": "d", "base_digest": null, "desired_digest": null,
            "commit_sha": "c", "author": null, "file": null, "line": null, "status": "pending_approval",
            "blocked_by": ["node a does not exist yet", "a window"], "waits_for": waits_for, "gate": null,
            "approvals": [], "reason": null, "decided_by": null, "position": 1, "opened_at": "", "expires_at": "",
            "decided_at": null, "closed_at": null, "version": 1,
        });
        serde_json::from_value(text).expect("a proposal as the API tells it")
    }

    #[test]
    fn identical_changes_of_one_run_are_one_row_where_the_first_stands() {
        let same = json!({"region": "eu"});
        let groups = group(
            vec![
                proposal("two", "a", same.clone(), &[]),
                proposal("two", "b", json!({"region": "us"}), &["node a"]),
                proposal("two", "c", same.clone(), &["node b", "node elsewhere"]),
                proposal("one", "d", same, &[]),
            ],
            &[],
        );
        let names: Vec<Vec<String>> =
            groups.iter().map(|group| group.same.iter().map(IdenticalChanges::names).collect()).collect();
        assert_eq!(names, [vec!["a, c", "b"], vec!["d"]]);
        let (after, more) = groups[0].same[0].dependencies();
        let after: Vec<(&str, Option<&str>)> =
            after.into_iter().map(|(word, id)| (word.as_str(), id.as_deref())).collect();
        assert_eq!((after, more), (vec![("node b", Some("id-b")), ("node elsewhere", None)], 0));
        assert_eq!(groups[0].same[1].other_blockers(), ["a window"], "what comes first is not told twice");
        assert_eq!((groups[0].count_of(&Action::Create), groups[0].count_of(&Action::Destroy)), (3, 0));
    }
}
