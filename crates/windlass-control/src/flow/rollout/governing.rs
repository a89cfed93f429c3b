//! Which rollouts new documents follow, and the proposals that caused them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::assign::{ApprovedFleet, AssignedBefore, NodeAssignment};
use windlass_core::digest::Digest;
use windlass_core::host::NodeDocument;
use windlass_core::id::{AccountId, ProposalId};
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::rollout::{Governing, GoverningRollouts};
use windlass_core::target_assignment::{CoveredResource, CoveringApproval};
use windlass_store::{Reading, StoreError};

/// The most proposals that are kept with a rollout.
const MAX_CAUSES: usize = 20;

/// The rollouts that the new documents of nodes follow. A node that has no document yet follows none.
pub(crate) async fn governing_of(
    reading: &mut Reading,
    fleet: &ApprovedFleet,
    before: &AssignedBefore,
    changed: &[NodeAssignment],
) -> Result<BTreeMap<String, Arc<Governing>>, StoreError> {
    let mut rollouts = GoverningRollouts::new(&fleet.accepted);
    let mut found = BTreeMap::new();
    let mut by_modules: Vec<(&NodeAssignment, Digest)> = Vec::new();
    for new in changed {
        let Some(assigned) = before.documents.get(&new.node) else { continue };
        let Some(template) = template_of(fleet, &new.node) else { continue };
        match rollouts.of_template(template) {
            Some(governing) => drop(found.insert(new.node.clone(), governing)),
            None if rollouts.has_modules() => by_modules.push((new, *assigned)),
            None => {}
        }
    }
    let digests: BTreeSet<Digest> = by_modules.iter().map(|(_, assigned)| *assigned).collect();
    let documents = reading.documents_of(&digests).await?;
    for (new, assigned) in by_modules {
        // A document that cannot be read says nothing about what changes.
        let Some(old) = documents.get(&assigned).and_then(|text| read_document(text)) else { continue };
        let Some(document) = read_document(&new.document) else { continue };
        if let Some(governing) = rollouts.of_modules(&old, &document) {
            found.insert(new.node.clone(), governing);
        }
    }
    Ok(found)
}

fn template_of<'f>(fleet: &'f ApprovedFleet, node: &str) -> Option<&'f str> {
    match fleet.accepted.resources.get(Kind::Node, node)?.spec.as_ref() {
        Spec::Node(spec) => Some(spec.template.as_str()),
        _ => None,
    }
}

fn read_document(text: &str) -> Option<NodeDocument> {
    NodeDocument::from_bytes(text.as_bytes()).ok()
}

/// The proposals that cover the new documents and none of the documents that are assigned, newest first, by what governs
/// the rollout.
pub(crate) async fn causes_of(
    reading: &mut Reading,
    account_id: &AccountId,
    governing: &BTreeMap<String, Arc<Governing>>,
    changed: &[NodeAssignment],
) -> Result<BTreeMap<ResourceKey, Vec<ProposalId>>, StoreError> {
    if governing.is_empty() {
        return Ok(BTreeMap::new());
    }
    let known: BTreeSet<String> =
        reading.assignment_approvals(account_id).await?.iter().flat_map(|text| proposals_in(text)).collect();
    let mut shared: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut causes: BTreeMap<ResourceKey, BTreeSet<String>> = BTreeMap::new();
    for new in changed {
        let Some(governing) = governing.get(&new.node) else { continue };
        let of_rollout = causes.entry(governing.resource.clone()).or_default();
        let of_shared = shared.entry(&new.shared).or_insert_with(|| proposals_in(&new.shared));
        let all = of_shared.iter().cloned().chain(proposals_in(&new.own));
        of_rollout.extend(all.filter(|proposal| !known.contains(proposal)));
    }
    let newest = |proposals: BTreeSet<String>| {
        proposals.into_iter().rev().take(MAX_CAUSES).map(ProposalId::new).collect()
    };
    Ok(causes.into_iter().map(|(resource, proposals)| (resource, newest(proposals))).collect())
}

fn proposals_in(approvals: &str) -> Vec<String> {
    let covered: Vec<CoveredResource> = serde_json::from_str(approvals).unwrap_or_default();
    let proposals = covered.into_iter().filter_map(|covered| match covered.approval {
        CoveringApproval::People { proposal, .. } | CoveringApproval::Policy { proposal, .. } => {
            Some(proposal)
        }
        _ => None,
    });
    proposals.collect()
}
