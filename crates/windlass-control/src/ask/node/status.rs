//! The statuses of nodes: filters, pages, one line for each node.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use windlass_api::types::{NodeAgentInfo, NodeStatusInfo, NodeStatusList};
use windlass_core::agent::Agent;
use windlass_core::observed::{LastContact, StoredObservation};
use windlass_core::report::TargetStatus;
use windlass_core::resource::NodeSpec;
use windlass_core::states;
use windlass_store::Reading;

use crate::ask::node::records::{NodeRecord, NodeRecords, node_resources};
use crate::caller::Identity;
use crate::clock::now;
use crate::page::{PageQuery, cut, key_position, read_key};
use crate::refusal::Refusal;

/// Which nodes a request selects.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct NodeFilterQuery {
    /// Only with these statuses, separated by commas.
    pub state: Option<String>,
    /// Only of this template.
    pub template: Option<String>,
    /// Only in this region.
    pub region: Option<String>,
    /// Only with this label: `key=value` or `key`.
    pub label: Option<String>,
    /// Only those whose name contains this.
    pub q: Option<String>,
}

/// Which nodes are selected.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeFilter {
    states: BTreeSet<TargetStatus>,
    name: Option<String>,
    template: Option<String>,
    region: Option<String>,
    label: Option<(String, Option<String>)>,
}

impl NodeFilter {
    pub(crate) fn of(query: &NodeFilterQuery) -> Result<NodeFilter, Refusal> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let label = given(&query.label).map(|text| match text.split_once('=') {
            Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
            None => (text, None),
        });
        Ok(NodeFilter {
            states: read_states(query.state.as_deref().unwrap_or_default())?,
            name: given(&query.q).map(|text| text.to_ascii_lowercase()),
            template: given(&query.template),
            region: given(&query.region),
            label,
        })
    }

    fn selects_spec(&self, spec: &NodeSpec) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        let has_label = self.label.as_ref().is_none_or(|(key, value)| {
            let found = spec.labels.iter().find(|(found, _)| found.as_str() == key);
            found.is_some_and(|(_, found)| value.as_deref().is_none_or(|value| found.as_str() == value))
        });
        is(&self.template, Some(spec.template.as_str()))
            && is(&self.region, spec.region.as_deref())
            && has_label
    }

    /// The same filter for nodes with any status.
    pub(crate) fn of_any_state(self) -> NodeFilter {
        NodeFilter { states: BTreeSet::new(), ..self }
    }

    pub(crate) fn selects(&self, record: &NodeRecord) -> bool {
        let has_state = self.states.is_empty() || self.states.contains(&record.status.report.status());
        let name = record.resource.key.name.to_ascii_lowercase();
        let has_name = self.name.as_ref().is_none_or(|text| name.contains(text));
        has_state && has_name && record.spec().is_some_and(|spec| self.selects_spec(spec))
    }
}

/// Reads statuses, separated by commas. People see `converged` as "In sync", and may write that too.
fn read_states(text: &str) -> Result<BTreeSet<TargetStatus>, Refusal> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let word = word.replace([' ', '-'], "_");
            let word = if word == "in_sync" { TargetStatus::InSync.slug() } else { word.as_str() };
            states::read(word).map_err(|unknown| {
                Refusal::bad_request(format!("state: {unknown}"), "for example state=drifted")
            })
        })
        .collect()
}

/// All nodes of an account with their statuses, by name. The reasons name no module and no item.
pub(crate) async fn load_nodes(
    reading: &mut Reading,
    who: &Identity,
) -> Result<(NodeRecords, Vec<NodeRecord>), Refusal> {
    let nodes = node_resources(reading, &who.account_id).await?;
    let records = NodeRecords::load(reading, &who.account_id, now()).await?;
    let nodes = nodes.iter().map(|node| records.record(node)).collect();
    Ok((records, nodes))
}

/// The nodes that a request selects, with their statuses, by name.
pub(crate) async fn select_nodes(
    reading: &mut Reading,
    who: &Identity,
    query: &NodeFilterQuery,
) -> Result<(NodeRecords, Vec<NodeRecord>), Refusal> {
    let filter = NodeFilter::of(query)?;
    let (records, mut nodes) = load_nodes(reading, who).await?;
    nodes.retain(|record| filter.selects(record));
    Ok((records, nodes))
}

/// A page of nodes with their statuses.
pub async fn list(
    reading: &mut Reading,
    who: &Identity,
    query: &NodeFilterQuery,
    page: &PageQuery,
) -> Result<NodeStatusList, Refusal> {
    let (records, selected) = select_nodes(reading, who, query).await?;
    cut_page(reading, who, &records, selected, page).await
}

/// The page of these nodes that a request asks for, with reasons that name modules and items.
pub(crate) async fn cut_page(
    reading: &mut Reading,
    who: &Identity,
    records: &NodeRecords,
    mut nodes: Vec<NodeRecord>,
    page: &PageQuery,
) -> Result<NodeStatusList, Refusal> {
    let limit = page.limit()?;
    let after = page.after_as(read_key)?;
    nodes.retain(|record| after.as_ref().is_none_or(|after| record.resource.key > *after));
    nodes.truncate(limit + 1);
    let meta = cut(&mut nodes, limit, |record| key_position(&record.resource.key));
    records.complete(reading, &who.account_id, &mut nodes).await?;
    Ok(NodeStatusList { nodes: nodes.iter().map(info).collect(), meta })
}

/// A node as responses show it.
pub(crate) fn info(record: &NodeRecord) -> NodeStatusInfo {
    let NodeRecord { resource, agent, assignment, report, observed, drift, status, .. } = record;
    let spec = record.spec();
    let labels: BTreeMap<String, String> = spec
        .map(|spec| spec.labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect())
        .unwrap_or_default();
    NodeStatusInfo {
        id: resource.id.to_string(),
        name: resource.key.name.clone(),
        state: status.report.status(),
        summary: status.report.summary(),
        reason: status.reason.clone(),
        as_of: report.reported_at.map(|at| at.to_string()),
        template: spec.map(|spec| spec.template.to_string()).unwrap_or_default(),
        region: spec.and_then(|spec| spec.region.clone()),
        labels,
        assigned_generation: assignment.map(|assigned| assigned.generation.0),
        reached_generation: observed
            .whole
            .as_ref()
            .map(StoredObservation::generation)
            .map(|reached| reached.0),
        drifted_items: drift.open.saturating_add(drift.left_out),
        accepted_items: drift.accepted,
        agent: agent.as_ref().map(agent_info),
    }
}

fn agent_info(agent: &Agent) -> NodeAgentInfo {
    NodeAgentInfo {
        id: agent.id.to_string(),
        enrolled_at: agent.enrolled_at.to_string(),
        last_contact_at: match agent.last_contact {
            LastContact::Never => None,
            LastContact::At(at) => Some(at.to_string()),
        },
    }
}
