//! The accepted state: tables by kind, a page at a time, however many there are.

use askama::Template;
use serde_json::Value;
use windlass_api::types::ResourceInfo;
use windlass_core::resource::Kind;

use crate::frame::{Frame, NavEntry};
use crate::{link, words};

/// What is searched for, as it stands in the address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceSearch {
    /// Text in the name.
    pub q: String,
    /// The repository that owns it; `none` for those nobody owns.
    pub repository: String,
}

/// One row.
#[derive(Clone, Debug)]
pub struct ResourceRow {
    /// The resource.
    pub resource: ResourceInfo,
    /// Whether someone changed it by hand.
    pub is_drifted: bool,
    /// The open proposal about it.
    pub proposal_id: Option<String>,
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "resources.html")]
pub struct ResourcesPage {
    /// What surrounds it.
    pub frame: Frame,
    /// The kind it shows; otherwise all.
    pub kind: Option<Kind>,
    /// What is searched for.
    pub search: ResourceSearch,
    /// How many of each kind are found.
    pub counts: Vec<(Kind, usize)>,
    /// The names of the repositories.
    pub repositories: Vec<String>,
    /// The rows.
    pub resources: Vec<ResourceRow>,
    /// Where the list goes on.
    pub next: Option<String>,
}

/// The fields that say what a resource of a kind is.
fn telling(kind: &str) -> &'static [&'static str] {
    match kind {
        "template" => &["node_platform", "extends", "modules"],
        "module" => &["version", "variety", "priority"],
        "node" => &["template", "region", "instance_type"],
        "assignment" => &["enabled", "priority"],
        "network" => &["routing_mode", "cidr", "description"],
        "peer" => &["publicly_reachable", "endpoint", "lan_subnets"],
        "virtual_ip" => &["primary_holder", "failover_holders", "address"],
        "federation_peer" => &["url"],
        "cluster" => &["labels", "description"],
        "cluster_group" => &["selector"],
        "bundle" => &["path", "chart", "targets"],
        "notification_provider" => &["type", "address", "channel"],
        "alert" => &["providers", "events", "severity"],
        _ => &[],
    }
}

impl ResourceRow {
    /// What it is in a few words: field and value.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        telling(&self.resource.kind)
            .iter()
            .filter_map(|field| Some((*field, self.resource.spec.get(field)?)))
            // Most say no to most things.
            .filter(|(field, value)| *field == "enabled" || **value != Value::Bool(false))
            .map(|(field, value)| (field, words::value_summary(value)))
            .filter(|(_, told)| !told.is_empty() && told != "—" && told != "\"\"")
            .collect()
    }
}

impl ResourcesPage {
    /// How many are found of all kinds.
    pub(crate) fn total(&self) -> usize {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    pub(crate) fn found(&self) -> usize {
        match self.kind {
            None => self.total(),
            Some(kind) => {
                self.counts.iter().filter(|(found, _)| *found == kind).map(|(_, count)| count).sum()
            }
        }
    }

    pub(crate) fn is_narrow(&self) -> bool {
        self.search != ResourceSearch::default()
    }

    pub(crate) fn title(&self) -> String {
        self.kind.map_or_else(|| "Resources".to_owned(), |kind| words::title(words::kind(kind.plural())))
    }

    /// The same search among resources of another kind.
    pub(crate) fn url_of(&self, kind: &Kind) -> String {
        self.url(Some(*kind))
    }

    /// The same search among resources of every kind.
    pub(crate) fn url_of_all(&self) -> String {
        self.url(None)
    }

    fn url(&self, kind: Option<Kind>) -> String {
        let pairs = [("q", self.search.q.as_str()), ("repository", &self.search.repository)];
        link::with_query(&link::resources(kind), &pairs)
    }

    pub(crate) fn clear_url(&self) -> String {
        link::resources(self.kind)
    }

    pub(crate) fn is_of(&self, kind: &Kind) -> bool {
        self.kind == Some(*kind)
    }
}
