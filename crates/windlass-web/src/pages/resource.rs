//! One accepted resource: its spec, its origin, related resources, and its history.

use askama::Template;
use windlass_api::types::{AuditInfo, DriftItem, EventInfo, FieldChange, ProposalInfo, ResourceInfo};
use windlass_core::event::Severity;
use windlass_core::states;
use windlass_core::yaml;

use super::proposal::{BlastRadius, NeighbourState};
use crate::diff::without_nulls;
use crate::frame::{Frame, NavEntry};
use crate::{link, words};

/// Where a resource is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredAt {
    /// The file.
    pub file: String,
    /// The line, and the commit that has it there, if a proposal recorded them.
    pub line: Option<(usize, String)>,
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "resource.html")]
pub struct ResourcePage {
    /// The frame of the page.
    pub frame: Frame,
    /// The resource, with secrets hidden.
    pub resource: ResourceInfo,
    /// Where git declares it.
    pub declared: Option<DeclaredAt>,
    /// The resources it refers to and those that refer to it.
    pub blast_radius: BlastRadius,
    /// Its difference from git.
    pub drift: Option<DriftItem>,
    /// Open proposals about it.
    pub proposals: Vec<ProposalInfo>,
    /// Its audit entries, newest first.
    pub audit: Vec<AuditInfo>,
    /// Its events, newest first.
    pub events: Vec<EventInfo>,
}

/// One entry of the history.
#[derive(Debug, PartialEq)]
pub(crate) struct HistoryEntry {
    pub(crate) at: String,
    pub(crate) who: String,
    pub(crate) what: String,
    pub(crate) tone: &'static str,
    pub(crate) fields: Vec<FieldChange>,
    pub(crate) proposal_id: Option<String>,
}

impl ResourcePage {
    pub(crate) fn yaml(&self) -> String {
        yaml::write(without_nulls(&self.resource.spec))
    }

    /// The addresses that Windlass allocated: name and value.
    pub(crate) fn allocated(&self) -> Vec<(String, String)> {
        let chosen = self.resource.allocated.as_object();
        let told = |(name, value): (&String, &serde_json::Value)| (words::title(name), words::value(value));
        chosen.map(|map| map.iter().map(told).collect()).unwrap_or_default()
    }

    /// The diagram of its network.
    pub(crate) fn network_url(&self) -> Option<String> {
        let name = match self.resource.kind.as_str() {
            "network" => self.resource.name.as_str(),
            "peer" | "virtual_ip" => self.resource.name.split_once('/')?.0,
            _ => return None,
        };
        Some(link::network(name))
    }

    pub(crate) fn drift_url(&self) -> String {
        let repository = self.resource.owner.as_ref().map(|owner| owner.repository_id.as_str());
        link::with_query("/app/drift", &[("repository", repository.unwrap_or_default())])
    }

    /// The history, newest first, without duplicates: changes from the audit log, everything else from the events.
    pub(crate) fn steps(&self) -> Vec<HistoryEntry> {
        let changes = self.audit.iter().map(change_step);
        let others = self.events.iter().filter(|event| event.kind != "resource.changed").map(event_step);
        let mut steps: Vec<HistoryEntry> = changes.chain(others).collect();
        steps.sort_by(|a, b| b.at.cmp(&a.at));
        steps
    }
}

fn change_step(entry: &AuditInfo) -> HistoryEntry {
    let text = |key: &str| entry.detail.get(key).and_then(serde_json::Value::as_str);
    let fields = entry.detail.get("fields").cloned().unwrap_or_default();
    let how = if entry.action == "proposal.apply" { "through a proposal" } else { "manually" };
    let what = match text("change") {
        Some("create") => format!("created {how}"),
        Some("destroy") => format!("destroyed {how}"),
        Some(_) => format!("changed {how}"),
        None => entry.action.replace(['.', '_'], " "),
    };
    let tone = match (entry.outcome.as_str(), text("change")) {
        ("done", Some(change)) => states::read(change).map_or("update", |change| words::change_tone(&change)),
        ("done", None) => "calm",
        _ => "destroy",
    };
    HistoryEntry {
        at: entry.at.clone(),
        who: words::person(&entry.actor).to_owned(),
        what: if entry.outcome == "done" { what } else { format!("{what}: {}", entry.outcome) },
        tone,
        fields: serde_json::from_value(fields).unwrap_or_default(),
        proposal_id: text("proposal_id").map(str::to_owned),
    }
}

fn event_step(event: &EventInfo) -> HistoryEntry {
    let proposal = event.payload.get("proposal_id").and_then(serde_json::Value::as_str);
    HistoryEntry {
        at: event.at.clone(),
        who: event.source.clone(),
        what: event.message.clone(),
        tone: match event.severity {
            Severity::High | Severity::Critical => "destroy",
            Severity::Medium => "update",
            Severity::Low => "calm",
        },
        fields: Vec::new(),
        proposal_id: proposal.map(str::to_owned),
    }
}
