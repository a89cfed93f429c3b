//! One node with its modules and its host.

use std::collections::BTreeMap;

use windlass_api::agent::HostFacts;
use windlass_api::types::{NodeDetail, NodeHostInfo, NodeModuleInfo};
use windlass_core::digest::Digest;
use windlass_core::host::NodeDocument;
use windlass_core::observed::LastContact;
use windlass_core::report::{
    ContactState, StatusReport, SyncState, TargetFacts, UnknownReason, moment, resource_reports,
};
use windlass_core::resource::{Kind, ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;
use windlass_store::{Reading, StoreError};

use crate::ask::node::records::{NodeRecord, NodeRecords};
use crate::ask::node::status::info;
use crate::ask::resource::list;
use crate::ask::target::OFFLINE_AFTER;
use crate::caller::Identity;
use crate::clock::now;
use crate::refusal::Refusal;

/// A node by id or name, with its status.
pub(crate) async fn find_node(
    reading: &mut Reading,
    who: &Identity,
    id_or_name: &str,
) -> Result<NodeRecord, Refusal> {
    let resource = list::find(reading, who, Kind::Node, id_or_name).await?;
    let records = NodeRecords::load(reading, &who.account_id, now()).await?;
    let mut found = [records.record(&resource)];
    records.complete(reading, &who.account_id, &mut found).await?;
    let [record] = found;
    Ok(record)
}

/// A node with its modules and its host.
pub async fn detail(reading: &mut Reading, who: &Identity, id_or_name: &str) -> Result<NodeDetail, Refusal> {
    let record = find_node(reading, who, id_or_name).await?;
    let modules = modules(reading, who, &record).await?;
    let host = record.report.facts.clone().and_then(|facts| serde_json::from_value(facts).ok());
    Ok(NodeDetail {
        node: info(&record),
        modules,
        host: host.map(host_info),
        events_dropped: record.report.events_dropped,
    })
}

fn host_info(facts: HostFacts) -> NodeHostInfo {
    NodeHostInfo {
        agent_version: facts.agent_version,
        hostname: facts.hostname,
        os: facts.os,
        kernel: facts.kernel,
        architecture: facts.architecture,
        booted_at: facts.booted_at.map(|at| at.to_string()),
    }
}

/// The modules that are assigned to a node, and those that its agent still reports.
async fn modules(
    reading: &mut Reading,
    who: &Identity,
    record: &NodeRecord,
) -> Result<Vec<NodeModuleInfo>, StoreError> {
    let Some(accepted) = record.assignment else { return Ok(Vec::new()) };
    let document = reading.assignment_document(accepted.digest).await?;
    let document = document.and_then(|text| NodeDocument::from_bytes(text.as_bytes()).ok());
    let assigned = document.map(|document| document.modules).unwrap_or_default();
    let digests: ResourceMap<Digest> = assigned
        .iter()
        .map(|module| (ResourceKey::new(Kind::Module, module.name.clone()), module.digest()))
        .collect();
    let last_contact = record.agent.as_ref().map_or(LastContact::Never, |agent| agent.last_contact);
    let facts = TargetFacts {
        accepted,
        observed: &record.observed,
        last_contact,
        offline_after: OFFLINE_AFTER,
        now: now(),
    };
    let mut versions: BTreeMap<&str, Option<String>> =
        assigned.iter().map(|module| (module.name.as_str(), module.version.clone())).collect();
    let key = &record.resource.key;
    let heads = reading.node_drift_heads(&[(&who.account_id, key)]).await?;
    let heads = heads.into_values().next().unwrap_or_default();
    let reports = resource_reports(&facts, &digests);
    let modules = reports.iter().map(|(_, name, report)| NodeModuleInfo {
        name: name.to_owned(),
        version: versions.remove(name).flatten(),
        state: report.status(),
        summary: report.summary(),
        reason: module_reason(report),
        drifted_items: heads.iter().filter(|head| head.module == name).count() as u64,
    });
    Ok(modules.collect())
}

/// Why a module is not in sync; none if it is.
fn module_reason(report: &StatusReport) -> Option<String> {
    let since = |at: &Timestamp| format!("since {}", moment(*at));
    if matches!(report.contact, ContactState::Never) {
        return None;
    }
    match &report.last_known {
        SyncState::InSync { .. } => None,
        SyncState::Applying { reached, accepted } => Some(match reached {
            Some(reached) => format!("applying {accepted}, seen under {reached}"),
            None => format!("applying {accepted}"),
        }),
        SyncState::Drifted { kind, since: at } => Some(format!("{} {}", kind.slug(), since(at))),
        SyncState::Failed { message, since: at } => Some(format!("{message} ({})", since(at))),
        SyncState::Unknown(reason) => Some(match reason {
            UnknownReason::NeverReported => "never reported".to_owned(),
            UnknownReason::NotAssigned => "not assigned".to_owned(),
            UnknownReason::Unreadable { message, since: at } => format!("{message} ({})", since(at)),
            UnknownReason::AheadOfAccepted { reported, .. } => format!("reported {reported}"),
        }),
    }
}
