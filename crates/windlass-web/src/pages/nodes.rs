//! Nodes with their status: filters, roll-ups, and why each is not in sync.

use askama::Template;
use windlass_api::types::{NodeStatusGroup, NodeStatusInfo, NodeStatusSummary};
use windlass_core::report::TargetStatus;

use crate::frame::{Frame, NavEntry};
use crate::{link, words};

/// How many label keys the page offers to group by. A fleet may use a label for each node.
const LABEL_KEYS: usize = 50;

/// What the list is filtered by. Empty texts select everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSearch {
    /// Text in the name.
    pub q: String,
    /// A status.
    pub state: String,
    /// A template.
    pub template: String,
    /// A region.
    pub region: String,
    /// A label, as `key=value` or `key`.
    pub label: String,
    /// What the roll-up is by.
    pub by: String,
}

impl NodeSearch {
    /// The address of the list with this search.
    pub fn url(&self, cursor: &str) -> String {
        link::with_query(
            "/app/nodes",
            &[
                ("q", &self.q),
                ("state", &self.state),
                ("template", &self.template),
                ("region", &self.region),
                ("label", &self.label),
                ("by", &self.by),
                ("cursor", cursor),
            ],
        )
    }
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "nodes.html")]
pub struct NodesPage {
    /// The frame of the page.
    pub frame: Frame,
    /// What the list is filtered by.
    pub search: NodeSearch,
    /// The counts of the nodes that the filter selects, whatever their status.
    pub summary: NodeStatusSummary,
    /// The templates of all nodes.
    pub templates: Vec<String>,
    /// The regions of all nodes.
    pub regions: Vec<String>,
    /// The keys of the labels of all nodes.
    pub label_keys: Vec<String>,
    /// How many hosts wait for a decision before they join.
    pub waiting: usize,
    /// The nodes of this page.
    pub nodes: Vec<NodeStatusInfo>,
    /// Where the list goes on.
    pub next: Option<String>,
}

impl NodesPage {
    /// The statuses with their number of nodes and their address, the most severe first.
    pub(crate) fn tabs(&self) -> Vec<(TargetStatus, u64, String)> {
        let tab = |state: &TargetStatus| {
            let count = self.summary.all.states.get(state.slug()).copied().unwrap_or(0);
            let search = NodeSearch { state: state.slug().to_owned(), ..self.search.clone() };
            (*state, count, search.url(""))
        };
        TargetStatus::ALL.iter().rev().map(tab).collect()
    }

    pub(crate) fn url_of_all(&self) -> String {
        NodeSearch { state: String::new(), ..self.search.clone() }.url("")
    }

    pub(crate) fn is_filtered(&self) -> bool {
        let NodeSearch { q, template, region, label, .. } = &self.search;
        [q, template, region, label].iter().any(|text| !text.is_empty())
    }

    /// What nodes can be grouped by: the spelling in the address, the label, and whether it is the current one.
    pub(crate) fn groupings(&self) -> Vec<(String, String, bool)> {
        let fixed = ["template", "region"].map(|word| (word.to_owned(), word.to_owned()));
        let labels = self.label_keys.iter().take(LABEL_KEYS);
        let labels = labels.map(|key| (format!("label:{key}"), format!("label {key}")));
        let all = fixed.into_iter().chain(labels);
        all.map(|(word, label)| (word.clone(), label, self.summary.by == word)).collect()
    }

    /// What the nodes are grouped by, as a title.
    pub(crate) fn grouping(&self) -> String {
        match self.summary.by.strip_prefix("label:") {
            Some(key) => format!("By label {key}"),
            None => format!("By {}", self.summary.by),
        }
    }

    /// The list of one group; none for the nodes that are in no group.
    pub(crate) fn group_url(&self, group: &NodeStatusGroup) -> Option<String> {
        if group.name.is_empty() {
            return None;
        }
        let name = group.name.clone();
        let search = self.search.clone();
        let search = match self.summary.by.strip_prefix("label:") {
            Some(key) => NodeSearch { label: format!("{key}={name}"), ..search },
            None if self.summary.by == "region" => NodeSearch { region: name, ..search },
            None => NodeSearch { template: name, ..search },
        };
        Some(search.url(""))
    }

    /// The number of nodes of a group that are in sync.
    pub(crate) fn in_sync(group: &NodeStatusGroup) -> u64 {
        group.states.get(TargetStatus::InSync.slug()).copied().unwrap_or(0)
    }

    pub(crate) fn group_name(group: &NodeStatusGroup) -> &str {
        if group.name.is_empty() { "none" } else { &group.name }
    }
}
