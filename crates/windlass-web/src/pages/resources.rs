//! The accepted state: tables by kind, in pages.

use askama::Template;
use serde_json::Value;
use windlass_api::types::ResourceInfo;
use windlass_core::resource::Kind;

use crate::frame::{Frame, NavEntry};
use crate::{link, words};

/// The filter, as in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceSearch {
    /// Text in the name.
    pub q: String,
    /// The repository that owns it; `none` for resources without an owner.
    pub repository: String,
}

/// One row.
#[derive(Clone, Debug)]
pub struct ResourceRow {
    /// The resource.
    pub resource: ResourceInfo,
    /// Whether it was changed manually.
    pub is_drifted: bool,
    /// The open proposal about it.
    pub proposal_id: Option<String>,
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "resources.html")]
pub struct ResourcesPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The kind that is shown; `None` for all.
    pub kind: Option<Kind>,
    /// The current filter.
    pub search: ResourceSearch,
    /// The number of matching resources of each kind.
    pub counts: Vec<(Kind, usize)>,
    /// The names of the repositories.
    pub repositories: Vec<String>,
    /// The rows.
    pub resources: Vec<ResourceRow>,
    /// Where the list goes on.
    pub next: Option<String>,
}

/// The fields that describe a resource of a kind best.
fn summary_fields(kind: &str) -> &'static [&'static str] {
    let Some(kind) = Kind::from_word(kind) else { return &[] };
    match kind {
        Kind::Template => &["node_platform", "extends", "modules"],
        Kind::Module => &["version", "variety", "priority"],
        Kind::ModuleVersion => &["state"],
        Kind::Node => &["template", "region", "instance_type"],
        Kind::Assignment => &["enabled", "priority"],
        Kind::Network => &["routing_mode", "cidr", "description"],
        Kind::Peer => &["publicly_reachable", "endpoint", "lan_subnets"],
        Kind::VirtualIp => &["primary_holder", "failover_holders", "address"],
        Kind::FederationPeer => &["url"],
        Kind::Cluster => &["labels", "description"],
        Kind::ClusterGroup => &["selector"],
        Kind::Bundle => &["path", "chart", "targets"],
        Kind::NotificationProvider => &["type", "address", "channel"],
        Kind::Alert => &["providers", "events", "severity"],
    }
}

impl ResourceRow {
    /// A short description: field and value.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        summary_fields(&self.resource.kind)
            .iter()
            .filter_map(|field| Some((*field, self.resource.spec.get(field)?)))
            // A field that is false is the usual case and not shown.
            .filter(|(field, value)| *field == "enabled" || **value != Value::Bool(false))
            .map(|(field, value)| (field, words::value_summary(value)))
            .filter(|(_, told)| !told.is_empty() && told != "—" && told != "\"\"")
            .collect()
    }
}

impl ResourcesPage {
    /// The number of matching resources of all kinds.
    pub(crate) fn total(&self) -> usize {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    pub(crate) fn matching_count(&self) -> usize {
        match self.kind {
            None => self.total(),
            Some(kind) => self
                .counts
                .iter()
                .filter(|(matching_count, _)| *matching_count == kind)
                .map(|(_, count)| count)
                .sum(),
        }
    }

    pub(crate) fn is_filtered(&self) -> bool {
        self.search != ResourceSearch::default()
    }

    pub(crate) fn title(&self) -> String {
        self.kind.map_or_else(|| "Resources".to_owned(), |kind| words::title(words::kind(kind.plural())))
    }

    /// The URL of the same filter for another kind.
    pub(crate) fn url_of(&self, kind: &Kind) -> String {
        self.url(Some(*kind))
    }

    /// The URL of the same filter for all kinds.
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

    pub(crate) fn is_current_kind(&self, kind: &Kind) -> bool {
        self.kind == Some(*kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_summarised_by_fields_that_it_has() {
        for kind in Kind::ALL {
            let fields = kind.description().fields;
            for name in summary_fields(kind.slug()) {
                let is_there = fields.iter().any(|field| field.name == *name);
                assert!(is_there, "a {kind} has no field `{name}`: correct `summary_fields`");
            }
        }
    }
}
