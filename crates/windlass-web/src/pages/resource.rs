//! One accepted resource: its spec, its origin, related resources, and its history.

use askama::Template;
use windlass_api::permission::Permission;
use windlass_api::types::{
    AuditInfo, DriftItem, EventInfo, FieldChange, ModuleVersionInfo, ProposalInfo, ResourceInfo,
};
use windlass_core::event::Severity;
use windlass_core::resource::Kind;
use windlass_core::states;
use windlass_core::value::{Lifecycle, LifecycleStep};
use windlass_core::yaml;

use super::Allowed;
use super::proposal::{BlastRadius, NeighbourState};
use crate::diff::without_nulls;
use crate::frame::{Frame, NavEntry};
use crate::{link, words};

/// The address of a resource's page.
pub fn resource_url(kind: Kind, name: &str) -> String {
    link::resource(kind.slug(), name)
}

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
    /// The versions of a module, newest first.
    pub versions: Vec<ModuleVersionInfo>,
    /// Open proposals about these versions: the name of the version, and the id of the proposal.
    pub version_proposals: Vec<(String, String)>,
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
    /// Whether the user may promote and retire versions; if not alone, the change becomes a proposal.
    pub(crate) fn may_promote(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::FleetWrite))
    }

    /// The state that a version can get next.
    pub(crate) fn next_state(&self, version: &ModuleVersionInfo) -> Option<Lifecycle> {
        let next = match version.state {
            Lifecycle::Built => Lifecycle::Staging,
            Lifecycle::Staging => Lifecycle::Blessed,
            Lifecycle::Blessed => Lifecycle::Live,
            Lifecycle::Live | Lifecycle::Retired => return None,
        };
        version.version.is_some().then_some(next)
    }

    pub(crate) fn can_retire(&self, version: &ModuleVersionInfo) -> bool {
        version.version.is_some() && version.state != Lifecycle::Retired
    }

    /// The states that a version can be taken back to, with a reason; the latest first.
    pub(crate) fn earlier_states(&self, version: &ModuleVersionInfo) -> Vec<Lifecycle> {
        let states = [Lifecycle::Live, Lifecycle::Blessed, Lifecycle::Staging, Lifecycle::Built];
        let is_back = |state: &Lifecycle| version.state.step_to(*state) == LifecycleStep::Back;
        states.into_iter().filter(is_back).filter(|_| version.version.is_some()).collect()
    }

    /// The open proposal about a version.
    pub(crate) fn version_proposal(&self, version: &ModuleVersionInfo) -> Option<&str> {
        let found = self.version_proposals.iter().find(|(name, _)| *name == version.name);
        found.map(|(_, id)| id.as_str())
    }

    /// What uses a version, in words.
    pub(crate) fn used_by(&self, version: &ModuleVersionInfo) -> String {
        let uses = &version.used_by;
        let counts = [
            (uses.templates, "template"),
            (uses.modules, "module"),
            (uses.assignments, "assignment"),
            (uses.versions, "version"),
        ];
        let told: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| words::count(count, word))
            .collect();
        if told.is_empty() { "nothing".to_owned() } else { told.join(", ") }
    }

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

    /// The page of the node as its agent sees it.
    pub(crate) fn node_url(&self) -> Option<String> {
        (self.resource.kind == "node").then(|| link::node(&self.resource.name))
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
