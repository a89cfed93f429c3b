//! What a change of accepted resources does to nodes: which nodes change and how, identical changes once.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::alike::ComposeKeys;
use super::compose::{HostProblem, HostState};
use super::difference::FieldDifference;
use super::document::NodeDocument;
use super::item::{FileContent, HostItem, HostItemId, ItemFromModule};
use super::package::{BlobDigest, ModulePackage};
use super::resolve::{NodeProblem, NodeResolver};
use super::shown::{masked_document, masked_packages};
use super::versions::ModuleVersions;
use crate::accepted::Accepted;
use crate::content::{FileDifference, FileSide};
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
    /// The fields that differ, secrets masked, without the text of a file.
    pub fields: Vec<FieldChange>,
    /// The lines of a file that differ, secrets masked.
    pub content: Option<FileDifference>,
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

/// The most different documents that are compared. Nodes beyond are counted.
const MAX_COMPARED: usize = 2_000;

/// What a change does to the nodes of a fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangedNodes {
    /// Nodes that change alike are together, largest group first.
    pub groups: Vec<NodesChangedAlike>,
    /// How many more nodes change, too many to compare item by item.
    pub not_compared: usize,
}

/// Which nodes change between two accepted states, and how. Nodes that do not change are left out. A node that is only in
/// one of the states is compared with a node without modules.
pub fn changed_nodes(before: FleetContent<'_>, after: FleetContent<'_>) -> ChangedNodes {
    let names = |fleet: FleetContent<'_>| -> Vec<String> {
        fleet.accepted.resources.of_kind(Kind::Node).map(|(name, _)| name.to_owned()).collect()
    };
    let mut nodes = names(before);
    nodes.extend(names(after));
    nodes.sort();
    nodes.dedup();
    let mut found = EffectGroups::default();
    let (mut before, mut after) = (DocumentResolver::new(before), DocumentResolver::new(after));
    for node in nodes {
        let (was, now) = (before.document(&node), after.document(&node));
        if was != now {
            found.add(node, NodeChange { was: (&mut before, was), now: (&mut after, now) });
        }
    }
    found.changed.groups.sort_by_key(|group| std::cmp::Reverse(group.nodes.len()));
    found.changed
}

/// The document of a node; none if there is no such node, or the reason why it has none.
type FoundDocument = Result<Option<NodeDocument>, String>;

/// A node whose document differs, each side with its state.
struct NodeChange<'c, 'b, 'a> {
    was: (&'c mut DocumentResolver<'b>, FoundDocument),
    now: (&'c mut DocumentResolver<'a>, FoundDocument),
}

/// The groups found so far. Documents that compose alike are compared once.
#[derive(Default)]
struct EffectGroups {
    changed: ChangedNodes,
    by_effect: BTreeMap<String, usize>,
    by_documents: BTreeMap<(String, String), Option<usize>>,
}

impl EffectGroups {
    fn add(&mut self, node: String, change: NodeChange<'_, '_, '_>) {
        let NodeChange { was: (before, was), now: (after, now) } = change;
        let key = (before.key(&was), after.key(&now));
        let group = match self.by_documents.get(&key) {
            Some(group) => *group,
            None if self.by_documents.len() == MAX_COMPARED => {
                self.changed.not_compared += 1;
                return;
            }
            None => {
                let group =
                    effect_of(before.items(&was), after.items(&now)).map(|effect| self.group_of(effect));
                self.by_documents.insert(key, group);
                group
            }
        };
        if let Some(group) = group {
            self.changed.groups[group].nodes.push(node);
        }
    }

    fn group_of(&mut self, effect: NodeEffect) -> usize {
        let groups = &mut self.changed.groups;
        *self.by_effect.entry(format!("{effect:?}")).or_insert_with(|| {
            groups.push(NodesChangedAlike { nodes: Vec::new(), effect });
            groups.len() - 1
        })
    }
}

/// The documents of nodes of one state, and their items.
struct DocumentResolver<'f> {
    fleet: FleetContent<'f>,
    nodes: NodeResolver<'f>,
    keys: ComposeKeys<'f>,
    masked: BTreeMap<BlobDigest, ModulePackage>,
}

impl<'f> DocumentResolver<'f> {
    fn new(fleet: FleetContent<'f>) -> DocumentResolver<'f> {
        let nodes = NodeResolver::new(fleet.accepted, fleet.versions);
        let masked = masked_packages(fleet.packages);
        DocumentResolver { fleet, nodes, keys: ComposeKeys::new(fleet.packages), masked }
    }

    fn document(&mut self, node: &str) -> FoundDocument {
        match self.nodes.resolve(node) {
            Ok(resolved) => Ok(Some(resolved.document)),
            Err(NodeProblem::NoNode(_)) => Ok(None),
            Err(problem) => Err(problem.to_string()),
        }
    }

    fn key(&mut self, document: &FoundDocument) -> String {
        match document {
            Ok(Some(document)) => self.keys.of(document),
            Ok(None) => String::new(),
            Err(reason) => reason.clone(),
        }
    }

    fn items(&self, document: &FoundDocument) -> FoundItems {
        let document = match document {
            Ok(Some(document)) => document,
            Ok(None) => return Ok(BTreeMap::new()),
            Err(reason) => return Err(vec![reason.clone()]),
        };
        let reasons =
            |problems: Vec<HostProblem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>();
        let state = HostState::compose(document, self.fleet.packages).map_err(reasons)?;
        // What differs is decided by the real items, and shown of those that were filled with masked settings.
        let shown = HostState::compose(&masked_document(document), &self.masked).map_err(reasons)?;
        let mut shown: BTreeMap<HostItemId, HostItem> =
            shown.items.into_iter().map(|one| (one.item.id(), one.item)).collect();
        let both = |one: ItemFromModule| {
            let id = one.item.id();
            let shown = shown.remove(&id).unwrap_or_else(|| one.item.clone());
            (id, FoundItem { item: one.item, shown })
        };
        Ok(state.items.into_iter().map(both).collect())
    }
}

/// An item, and the same with masked settings.
struct FoundItem {
    item: HostItem,
    shown: HostItem,
}

/// The items of a node, or why it has none.
type FoundItems = Result<BTreeMap<HostItemId, FoundItem>, Vec<String>>;

fn effect_of(was: FoundItems, now: FoundItems) -> Option<NodeEffect> {
    let now = match now {
        Ok(now) => now,
        Err(reasons) => {
            let was_the_same = was.is_err_and(|earlier| earlier == reasons);
            return (!was_the_same).then_some(NodeEffect::Unresolvable(reasons));
        }
    };
    let mut earlier = was.unwrap_or_default();
    let mut changes = Vec::new();
    for (id, now) in now {
        match earlier.remove(&id) {
            Some(was) if was.item == now.item => {}
            was => changes.push(item_change(id, was.map(|was| was.shown), Some(now.shown))),
        }
    }
    changes.extend(earlier.into_iter().map(|(id, was)| item_change(id, Some(was.shown), None)));
    (!changes.is_empty()).then_some(NodeEffect::Items(changes))
}

fn item_change(item: HostItemId, was: Option<HostItem>, now: Option<HostItem>) -> ItemChange {
    let kind = match (&was, &now) {
        (None, _) => ItemChangeKind::Add,
        (Some(_), Some(_)) => ItemChangeKind::Change,
        (Some(_), None) => ItemChangeKind::Remove,
    };
    let content = content_difference(&item.name, was.as_ref(), now.as_ref());
    let json = |item: Option<HostItem>| item.map_or_else(|| json!({}), |item| without_text(item.to_json()));
    let fields = field_changes(&json(was), &json(now));
    ItemChange { item, kind, fields, content }
}

/// The text of a file is shown as lines that differ.
fn without_text(mut item: Value) -> Value {
    if let Some(content) = item.get_mut("content").and_then(Value::as_object_mut) {
        content.remove("text");
    }
    item
}

fn content_difference(path: &str, was: Option<&HostItem>, now: Option<&HostItem>) -> Option<FileDifference> {
    let text = |item: Option<&HostItem>| match item {
        Some(HostItem::File(_, file)) => match &file.content {
            FileContent::Text(text) => Some(FileSide::Bytes(text.clone().into_bytes())),
            FileContent::Blob(_) | FileContent::FilledBlob(..) => None,
        },
        _ => None,
    };
    let (was, now) = (text(was), text(now));
    if was == now {
        return None;
    }
    let side = |side: Option<FileSide>| side.unwrap_or(FileSide::Nothing);
    match FieldDifference::content(path, &side(was), &side(now))? {
        FieldDifference::Content(difference) => Some(difference),
        FieldDifference::Value { .. } => None,
    }
}
