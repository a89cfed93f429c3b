//! What happened, newest first, and what happens.

use askama::Template;
use windlass_api::types::EventInfo;

use crate::frame::{Frame, NavEntry};
use crate::words;

/// What is searched for, as it stands in the address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventSearch {
    /// Text in the message.
    pub q: String,
    /// A kind of event, or the beginning of kinds ending in `.`.
    pub kind: String,
    /// How much it matters.
    pub severity: String,
    /// A repository's id or name.
    pub repository: String,
    /// A resource, `kind/name`.
    pub resource: String,
    /// A run's id.
    pub run: String,
}

impl EventSearch {
    pub(crate) fn is_narrow(&self) -> bool {
        [&self.q, &self.kind, &self.severity, &self.repository, &self.resource, &self.run]
            .iter()
            .any(|word| !word.is_empty())
    }
}

/// Something that can be chosen from a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryChoice {
    /// What stands in the address.
    pub id: String,
    /// What people call it.
    pub name: String,
}

/// Which part of the list is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventsPart {
    /// The newest: new ones are added as they happen.
    Newest,
    /// Older ones, which stay as they are.
    Older,
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "events.html")]
pub struct EventsPage {
    /// What surrounds it.
    pub frame: Frame,
    /// What is searched for.
    pub search: EventSearch,
    /// The repositories of the account, by name.
    pub repositories: Vec<RepositoryChoice>,
    /// Newest first.
    pub events: Vec<EventInfo>,
    /// Which part of the list they are.
    pub part: EventsPart,
    /// Where the list begins.
    pub newest: String,
    /// Where the list goes on.
    pub next: Option<String>,
}

/// What people look for, under the beginning or the name of its kind.
const KINDS: &[(&str, &str)] = &[
    ("gitops.", "All GitOps events"),
    ("gitops.proposal_opened", "Proposed"),
    ("gitops.proposal_approved", "Approved"),
    ("gitops.proposal_rejected", "Rejected"),
    ("gitops.proposal_applied", "Applied"),
    ("gitops.proposal_failed", "Failed to apply"),
    ("gitops.drift_detected", "Drift detected"),
    ("gitops.drift_resolved", "Drift resolved"),
    ("gitops.sync_succeeded", "Sync succeeded"),
    ("gitops.sync_failed", "Sync failed"),
    ("forge.report_failed", "Forge reporting failed"),
    ("resource.", "Manual changes"),
    ("account.", "The account"),
];

const SEVERITIES: &[&str] = &["low", "medium", "high", "critical"];

impl EventsPage {
    /// What kinds can be chosen: with the one that is chosen, whichever it is.
    fn kinds(&self) -> Vec<(&str, &str)> {
        let chosen = self.search.kind.as_str();
        let is_listed = chosen.is_empty() || KINDS.iter().any(|(kind, _)| *kind == chosen);
        KINDS.iter().copied().chain((!is_listed).then_some((chosen, chosen))).collect()
    }

    /// What severities can be chosen.
    fn severities(&self) -> &'static [&'static str] {
        SEVERITIES
    }

    /// The name of a repository; its id if it is not there any more.
    fn repository_name<'e>(&'e self, id: &'e str) -> &'e str {
        self.repositories.iter().find(|known| known.id == id).map_or(id, |known| known.name.as_str())
    }

    fn is_chosen(&self, repository: &RepositoryChoice) -> bool {
        !self.search.repository.is_empty()
            && [&repository.id, &repository.name].contains(&&self.search.repository)
    }

    fn is_live(&self) -> bool {
        self.part == EventsPart::Newest
    }
}
