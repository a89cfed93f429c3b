//! How a node's host differs from what is assigned, item by item.

use windlass_api::types::{Acceptance, NodeDrift, NodeDriftItem, NodeFieldDifference};
use windlass_core::drift::{DriftedItem, ItemAcceptance, ItemAcceptances};
use windlass_core::host::FieldDifference;
use windlass_core::states::Spelled as _;
use windlass_core::time::Timestamp;
use windlass_store::Reading;

use crate::ask::node::detail::find_node;
use crate::ask::node::records::NodeRecord;
use crate::caller::Identity;
use crate::clock::now;
use crate::refusal::Refusal;

/// The items of a node that differ, with what was accepted.
pub(crate) struct NodeItems {
    pub(crate) items: Vec<DriftedItem>,
    acceptances: ItemAcceptances,
    now: Timestamp,
}

impl NodeItems {
    pub(crate) async fn load(
        reading: &mut Reading,
        who: &Identity,
        node: &NodeRecord,
        now: Timestamp,
    ) -> Result<NodeItems, Refusal> {
        let key = &node.resource.key;
        let items = reading.node_drift(&who.account_id, key).await?;
        let acceptances = reading.node_drift_acceptances(&who.account_id, key).await?;
        Ok(NodeItems { items, acceptances: acceptances.into_iter().collect(), now })
    }

    /// The acceptance of an item, if it is valid.
    pub(crate) fn acceptance(&self, item: &DriftedItem) -> Option<&ItemAcceptance> {
        self.acceptances.of(&item.key, item.digest(), self.now)
    }
}

/// How a node differs from what is assigned.
pub async fn node_drift(
    reading: &mut Reading,
    who: &Identity,
    id_or_name: &str,
) -> Result<NodeDrift, Refusal> {
    let node = find_node(reading, who, id_or_name).await?;
    drift_of(reading, who, &node).await
}

pub(crate) async fn drift_of(
    reading: &mut Reading,
    who: &Identity,
    node: &NodeRecord,
) -> Result<NodeDrift, Refusal> {
    let found = NodeItems::load(reading, who, node, now()).await?;
    let items = found.items.iter().map(|item| item_info(item, found.acceptance(item)));
    Ok(NodeDrift {
        node: node.resource.key.name.clone(),
        state: node.status.report.status(),
        reason: node.status.reason.clone(),
        as_of: node.report.reported_at.map(|at| at.to_string()),
        items: items.collect(),
        left_out: node.report.drift_left_out,
    })
}

fn item_info(item: &DriftedItem, acceptance: Option<&ItemAcceptance>) -> NodeDriftItem {
    NodeDriftItem {
        kind: item.key.kind.clone(),
        name: item.key.name.clone(),
        module: item.module.clone(),
        mode: item.mode.spelling().to_owned(),
        since: item.since.to_string(),
        fields: item.fields.iter().map(field_info).collect(),
        problem: item.problem.as_ref().map(ToString::to_string),
        acceptance: acceptance.map(|acceptance| Acceptance {
            by: acceptance.by.clone(),
            reason: acceptance.reason.clone(),
            until: acceptance.until.map(|until| until.to_string()),
        }),
    }
}

fn field_info(field: &FieldDifference) -> NodeFieldDifference {
    match field {
        FieldDifference::Value { field, observed, desired } => NodeFieldDifference {
            field: field.clone(),
            observed: observed.clone(),
            desired: desired.clone(),
            diff: None,
            note: None,
        },
        FieldDifference::Content(file) => NodeFieldDifference {
            field: "content".to_owned(),
            observed: file.before_bytes.map(|bytes| format!("{bytes} bytes")),
            desired: file.after_bytes.map(|bytes| format!("{bytes} bytes")),
            diff: file.lines.clone(),
            note: file.not_shown.clone(),
        },
    }
}
