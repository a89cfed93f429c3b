//! Events, newest first, with live updates.

use askama::Template;
use windlass_api::types::EventInfo;

use crate::frame::{Frame, NavEntry};
use crate::words;

/// The filter, as in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventSearch {
    /// Text in the message.
    pub q: String,
    /// A kind of event, or a prefix of kinds that ends in `.`.
    pub kind: String,
    /// The severity.
    pub severity: String,
    /// A repository's id or name.
    pub repository: String,
    /// A resource, `kind/name`.
    pub resource: String,
    /// A run's id.
    pub run: String,
}

impl EventSearch {
    pub(crate) fn is_filtered(&self) -> bool {
        [&self.q, &self.kind, &self.severity, &self.repository, &self.resource, &self.run]
            .iter()
            .any(|word| !word.is_empty())
    }
}

/// A repository in a list to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryChoice {
    /// Its id, as in the URL.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// The part of the list that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventsPart {
    /// The newest events: new ones are added live.
    Newest,
    /// Older events, which do not change.
    Older,
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "events.html")]
pub struct EventsPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The current filter.
    pub search: EventSearch,
    /// The repositories of the account, by name.
    pub repositories: Vec<RepositoryChoice>,
    /// The events, newest first.
    pub events: Vec<EventInfo>,
    /// The part of the list.
    pub part: EventsPart,
    /// The URL of the newest events.
    pub newest: String,
    /// Where the list goes on.
    pub next: Option<String>,
}

/// The kinds to choose from: prefix or name of the kind, and its label.
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
    /// The kinds to choose from, including the current one.
    fn kinds(&self) -> Vec<(&str, &str)> {
        let chosen = self.search.kind.as_str();
        let is_listed = chosen.is_empty() || KINDS.iter().any(|(kind, _)| *kind == chosen);
        KINDS.iter().copied().chain((!is_listed).then_some((chosen, chosen))).collect()
    }

    /// The severities to choose from.
    fn severities(&self) -> &'static [&'static str] {
        SEVERITIES
    }

    /// The name of a repository; its id if it no longer exists.
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
