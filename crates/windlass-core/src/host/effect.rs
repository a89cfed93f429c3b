//! What a change of accepted resources does to nodes: which nodes change and how, identical changes once.

use std::collections::BTreeMap;

use super::compose::{HostProblem, HostState};
use super::item::{HostItem, HostItemId};
use super::package::{BlobDigest, ModulePackage};
use super::resolve::{NodeProblem, NodeResolver};
use super::versions::ModuleVersions;
use crate::accepted::Accepted;
use crate::diff::{FieldChange, field_changes};
use crate::resource::Kind;

/// An accepted state with the content of its modules.
#[derive(Clone, Copy, Debug)]
pub struct FleetContent<'f> {
    /// The accepted resources.
    pub accepted: &'f Accepted,
    /// The versions of the modules.
    pub versions: &'f ModuleVersions,
    /// Their content.
    pub packages: &'f BTreeMap<BlobDigest, ModulePackage>,
}

/// Nodes that change in the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct NodesChangedAlike {
    /// The nodes, by name.
    pub nodes: Vec<String>,
    /// What happens on each of them.
    pub effect: NodeEffect,
}

/// What happens on a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeEffect {
    /// These items change.
    Items(Vec<ItemChange>),
    /// It cannot be said any more what the node shall be, for these reasons.
    Unresolvable(Vec<String>),
}

/// What happens to an item.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemChange {
    /// The item.
    pub item: HostItemId,
    /// Whether it is new, changes or goes.
    pub kind: ItemChangeKind,
    /// The fields that differ, secrets masked.
    pub fields: Vec<FieldChange>,
}

/// Whether an item is new, changes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemChangeKind {
    /// It is new.
    Add,
    /// It changes.
    Change,
    /// It goes; what was there before comes back.
    Remove,
}

/// Which nodes change between two accepted states, and how. Nodes that do not change are left out; nodes that change alike
/// are together, largest group first. A node that is only in one of the states is compared with a node without modules.
pub fn changed_nodes(before: FleetContent<'_>, after: FleetContent<'_>) -> Vec<NodesChangedAlike> {
    let mut groups: Vec<NodesChangedAlike> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    let mut resolvers = (ItemResolver::new(before), ItemResolver::new(after));
    let names = |fleet: FleetContent<'_>| -> Vec<String> {
        fleet.accepted.resources.of_kind(Kind::Node).map(|(name, _)| name.to_owned()).collect()
    };
    let mut nodes = names(before);
    nodes.extend(names(after));
    nodes.sort();
    nodes.dedup();
    for node in nodes {
        let Some(effect) = effect_on(&node, &mut resolvers) else { continue };
        let at = *index.entry(format!("{effect:?}")).or_insert_with(|| {
            groups.push(NodesChangedAlike { nodes: Vec::new(), effect });
            groups.len() - 1
        });
        groups[at].nodes.push(node);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.nodes.len()));
    groups
}

/// The items of nodes of one state.
struct ItemResolver<'f> {
    fleet: FleetContent<'f>,
    nodes: NodeResolver<'f>,
}

impl<'f> ItemResolver<'f> {
    fn new(fleet: FleetContent<'f>) -> ItemResolver<'f> {
        ItemResolver { fleet, nodes: NodeResolver::new(fleet.accepted, fleet.versions) }
    }

    /// The items of a node; none if the node does not exist.
    fn items(&mut self, node: &str) -> Result<BTreeMap<HostItemId, HostItem>, Vec<String>> {
        let resolved = match self.nodes.resolve(node) {
            Ok(resolved) => resolved,
            Err(NodeProblem::NoNode(_)) => return Ok(BTreeMap::new()),
            Err(problem) => return Err(vec![problem.to_string()]),
        };
        let shown = |problems: Vec<HostProblem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>();
        let state = HostState::compose(&resolved.document, self.fleet.packages).map_err(shown)?;
        Ok(state.items.into_iter().map(|one| (one.item.id(), one.item)).collect())
    }
}

fn effect_on(node: &str, (before, after): &mut (ItemResolver<'_>, ItemResolver<'_>)) -> Option<NodeEffect> {
    let now = match after.items(node) {
        Ok(now) => now,
        Err(reasons) => {
            let was_the_same = before.items(node).is_err_and(|earlier| earlier == reasons);
            return (!was_the_same).then_some(NodeEffect::Unresolvable(reasons));
        }
    };
    let mut earlier = before.items(node).unwrap_or_default();
    let mut changes = Vec::new();
    for (id, item) in now {
        let kind = match earlier.remove(&id) {
            Some(was) if was == item => continue,
            Some(was) => (ItemChangeKind::Change, field_changes(&was.to_json(), &item.to_json())),
            None => (ItemChangeKind::Add, field_changes(&serde_json::json!({}), &item.to_json())),
        };
        changes.push(ItemChange { item: id, kind: kind.0, fields: kind.1 });
    }
    let gone = earlier.into_iter().map(|(id, was)| {
        let fields = field_changes(&was.to_json(), &serde_json::json!({}));
        ItemChange { item: id, kind: ItemChangeKind::Remove, fields }
    });
    changes.extend(gone);
    (!changes.is_empty()).then_some(NodeEffect::Items(changes))
}
