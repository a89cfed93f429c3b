//! Roll-ups of the statuses of nodes: by template, region or label.

use std::collections::{BTreeMap, BTreeSet};

use windlass_api::types::{NodeStatusGroup, NodeStatusList, NodeStatusSummary};
use windlass_core::id::AccountId;
use windlass_core::report::{StatusTally, TargetStatus, roll_up};
use windlass_core::time::Timestamp;
use windlass_store::{Reading, StoreError};

use crate::ask::node::records::{NodeRecord, NodeRecords, node_resources};
use crate::ask::node::status::{NodeFilter, NodeFilterQuery, cut_page, load_nodes, select_nodes};
use crate::caller::Identity;
use crate::page::PageQuery;
use crate::refusal::Refusal;

/// What nodes are grouped by.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NodeGrouping {
    Template,
    Region,
    Label(String),
}

impl NodeGrouping {
    fn read(text: &str) -> Result<NodeGrouping, Refusal> {
        match text {
            "" | "template" => Ok(NodeGrouping::Template),
            "region" => Ok(NodeGrouping::Region),
            _ => match text.strip_prefix("label:").filter(|key| !key.is_empty()) {
                Some(key) => Ok(NodeGrouping::Label(key.to_owned())),
                None => Err(Refusal::bad_request(
                    "by must be template, region or label:KEY",
                    "for example by=label:tier",
                )),
            },
        }
    }

    fn word(&self) -> String {
        match self {
            NodeGrouping::Template => "template".to_owned(),
            NodeGrouping::Region => "region".to_owned(),
            NodeGrouping::Label(key) => format!("label:{key}"),
        }
    }

    /// The group of a node; empty if it has none.
    fn group(&self, record: &NodeRecord) -> String {
        let Some(spec) = record.spec() else { return String::new() };
        match self {
            NodeGrouping::Template => spec.template.to_string(),
            NodeGrouping::Region => spec.region.clone().unwrap_or_default(),
            NodeGrouping::Label(key) => {
                let found = spec.labels.iter().find(|(found, _)| found.as_str() == key);
                found.map(|(_, value)| value.to_string()).unwrap_or_default()
            }
        }
    }
}

/// How many nodes have each status, by group.
pub async fn summary(
    reading: &mut Reading,
    who: &Identity,
    query: &NodeFilterQuery,
    by: Option<&str>,
) -> Result<NodeStatusSummary, Refusal> {
    let by = NodeGrouping::read(by.unwrap_or_default())?;
    let (_, nodes) = select_nodes(reading, who, query).await?;
    Ok(summary_of(&by, nodes.iter()))
}

fn summary_of<'n>(
    by: &NodeGrouping,
    nodes: impl Iterator<Item = &'n NodeRecord> + Clone,
) -> NodeStatusSummary {
    let statuses = || nodes.clone().map(|record| record.status.report.status());
    let all: StatusTally = statuses().collect();
    let groups: BTreeMap<String, StatusTally> =
        roll_up(nodes.clone().map(|record| by.group(record)).zip(statuses()));
    let groups = groups.iter().map(|(name, tally)| group_info(name, tally)).collect();
    NodeStatusSummary { by: by.word(), all: group_info("", &all), groups }
}

/// A page of nodes with everything that is shown around it.
pub struct NodesOverview {
    /// The page.
    pub list: NodeStatusList,
    /// The counts of the nodes that the filter selects, whatever their status.
    pub summary: NodeStatusSummary,
    /// The templates of all nodes.
    pub templates: BTreeSet<String>,
    /// The regions of all nodes.
    pub regions: BTreeSet<String>,
    /// The keys of the labels of all nodes.
    pub label_keys: BTreeSet<String>,
}

/// A page of nodes with the counts around it, from one reading of all nodes.
pub async fn nodes_overview(
    reading: &mut Reading,
    who: &Identity,
    query: &NodeFilterQuery,
    by: Option<&str>,
    page: &PageQuery,
) -> Result<NodesOverview, Refusal> {
    let by = NodeGrouping::read(by.unwrap_or_default())?;
    let filter = NodeFilter::of(query)?;
    let (records, mut nodes) = load_nodes(reading, who).await?;
    let specs = || nodes.iter().filter_map(NodeRecord::spec);
    let templates = specs().map(|spec| spec.template.to_string()).collect();
    let regions = specs().filter_map(|spec| spec.region.clone()).collect();
    let label_keys = specs().flat_map(|spec| spec.labels.keys().map(ToString::to_string)).collect();
    let around = filter.clone().of_any_state();
    let summary = summary_of(&by, nodes.iter().filter(|record| around.selects(record)));
    nodes.retain(|record| filter.selects(record));
    let list = cut_page(reading, who, &records, nodes, page).await?;
    Ok(NodesOverview { list, summary, templates, regions, label_keys })
}

/// How many nodes of an account have each status.
pub async fn tally(
    reading: &mut Reading,
    account_id: &AccountId,
    now: Timestamp,
) -> Result<StatusTally, StoreError> {
    let nodes = node_resources(reading, account_id).await?;
    if nodes.is_empty() {
        return Ok(StatusTally::default());
    }
    let records = NodeRecords::load(reading, account_id, now).await?;
    Ok(nodes.iter().map(|node| records.record(node).status.report.status()).collect())
}

fn group_info(name: &str, tally: &StatusTally) -> NodeStatusGroup {
    let states = TargetStatus::ALL.iter().filter(|status| tally.of(**status) > 0);
    NodeStatusGroup {
        name: name.to_owned(),
        nodes: tally.total(),
        states: states.map(|status| (status.slug().to_owned(), tally.of(*status))).collect(),
        worst: tally.worst(),
        headline: tally.headline(),
    }
}
