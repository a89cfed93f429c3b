//! What a proposal does to nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::content::FileChange;
use windlass_core::host::{ChangedNodes, ItemChange, ItemChangeKind, NodeEffect, NodesChangedAlike};

use super::{FieldChange, FileDifference};
use crate::word::Word;

/// The most groups of nodes that are shown.
const MAX_GROUPS: usize = 20;

/// The most nodes of a group that are named.
const MAX_NAMES: usize = 10;

/// The most items of a group that are shown.
const MAX_ITEMS: usize = 100;

/// The longest lines of all items together.
const MAX_LINES_BYTES: usize = 256 * 1024;

/// What a proposal does to nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProposalEffects {
    /// How many nodes change.
    pub nodes: usize,
    /// Nodes that change alike are together, largest group first, up to a limit.
    pub groups: Vec<NodeGroup>,
    /// How many more groups there are.
    #[serde(default)]
    pub more_groups: usize,
    /// How many of the nodes were not compared item by item, because too many differ.
    #[serde(default)]
    pub not_compared: usize,
    /// Why the effects are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Nodes that change alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeGroup {
    /// How many nodes.
    pub count: usize,
    /// The names of the first.
    pub nodes: Vec<String>,
    /// What changes on each of them, up to a limit.
    pub items: Vec<ItemEffect>,
    /// How many more items change.
    #[serde(default)]
    pub more_items: usize,
    /// Why these nodes could not get what is accepted then; they keep what they have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// What happens to an item on a node: a package, a file, a service and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ItemEffect {
    /// Its type: `package`, `path`, `service` and so on.
    pub kind: String,
    /// Its name or path.
    pub name: String,
    /// What happens to it.
    #[schemars(with = "Word<FileChange>")]
    pub change: FileChange,
    /// The fields that differ, secrets masked.
    pub fields: Vec<FieldChange>,
    /// The lines of a file that differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<FileDifference>,
}

impl ProposalEffects {
    /// Effects that cannot be computed, with the reason.
    pub fn unknown(reason: impl Into<String>) -> ProposalEffects {
        ProposalEffects { problem: Some(reason.into()), ..ProposalEffects::default() }
    }
}

impl From<ChangedNodes> for ProposalEffects {
    fn from(changed: ChangedNodes) -> ProposalEffects {
        let compared: usize = changed.groups.iter().map(|group| group.nodes.len()).sum();
        let (all, mut room) = (changed.groups.len(), MAX_LINES_BYTES);
        let groups = changed.groups.into_iter().take(MAX_GROUPS).map(|group| node_group(group, &mut room));
        ProposalEffects {
            nodes: compared + changed.not_compared,
            groups: groups.collect(),
            more_groups: all.saturating_sub(MAX_GROUPS),
            not_compared: changed.not_compared,
            problem: None,
        }
    }
}

fn node_group(group: NodesChangedAlike, room: &mut usize) -> NodeGroup {
    let (items, problems) = match group.effect {
        NodeEffect::Items(items) => (items, Vec::new()),
        NodeEffect::Unresolvable(problems) => (Vec::new(), problems),
    };
    let (count, all) = (group.nodes.len(), items.len());
    NodeGroup {
        count,
        nodes: group.nodes.into_iter().take(MAX_NAMES).collect(),
        items: items.into_iter().take(MAX_ITEMS).map(|item| item_effect(item, room)).collect(),
        more_items: all.saturating_sub(MAX_ITEMS),
        problems,
    }
}

fn item_effect(item: ItemChange, room: &mut usize) -> ItemEffect {
    let mut content = item.content.map(FileDifference::from);
    if let Some(content) = &mut content {
        let bytes = content.lines.as_ref().map_or(0, String::len);
        match room.checked_sub(bytes) {
            Some(left) => *room = left,
            None => {
                content.lines = None;
                content.not_shown = Some("the differences are too long to show".to_owned());
            }
        }
    }
    ItemEffect {
        kind: item.item.kind.to_owned(),
        name: item.item.name,
        change: match item.kind {
            ItemChangeKind::Add => FileChange::Added,
            ItemChangeKind::Change => FileChange::Changed,
            ItemChangeKind::Remove => FileChange::Removed,
        },
        fields: item.fields.into_iter().map(Into::into).collect(),
        content,
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::host::HostItemId;

    use super::*;

    #[test]
    fn output_is_bounded_and_says_what_is_left_out() {
        let item = |name: usize| ItemChange {
            item: HostItemId { kind: "package", name: format!("p{name}") },
            kind: ItemChangeKind::Add,
            fields: Vec::new(),
            content: None,
        };
        let group = |nodes: usize| NodesChangedAlike {
            nodes: (0..nodes).map(|node| format!("n{node}")).collect(),
            effect: NodeEffect::Items((0..150).map(item).collect()),
        };
        let changed = ChangedNodes { groups: (0..25).map(|_| group(30)).collect(), not_compared: 5 };
        let shown = ProposalEffects::from(changed);
        assert_eq!((shown.nodes, shown.not_compared), (25 * 30 + 5, 5));
        assert_eq!((shown.groups.len(), shown.more_groups), (20, 5));
        let first = &shown.groups[0];
        assert_eq!((first.count, first.nodes.len()), (30, 10));
        assert_eq!((first.items.len(), first.more_items), (100, 50));
    }
}
