//! The tree: nodes in one arena, with shared aliases.

use std::borrow::Cow;
use std::ops::Range;

use super::Scalar;

/// One YAML document. Nodes are shared where the text used an alias, so a walk can visit a node twice.
#[derive(Debug, Default)]
pub struct Tree<'s> {
    pub(super) nodes: Vec<YamlNode<'s>>,
    pub(super) children: Vec<u32>,
    pub(super) root: u32,
    /// How many more values there are with aliases expanded.
    pub(super) copied: usize,
}

#[derive(Debug)]
pub(super) struct YamlNode<'s> {
    pub(super) content: NodeData<'s>,
    pub(super) start: u32,
    pub(super) end: u32,
}

#[derive(Debug)]
pub(super) enum NodeData<'s> {
    Scalar(Cow<'s, str>, Style),
    Sequence(Style, Range<u32>),
    Mapping(Style, Range<u32>),
}

/// The style of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// An unquoted scalar, whose meaning follows from its text.
    Plain,
    /// A quoted or block scalar, or one tagged `!!str`: always text.
    Text,
    /// A list or map in `[…]` or `{…}`.
    Flow,
    /// A list or map by indentation.
    Block,
}

/// The content of a node.
#[derive(Debug)]
pub enum YamlContent<'t> {
    /// A single value.
    Scalar(Scalar<'t>),
    /// A list.
    Sequence(Items<'t>),
    /// A map, in the order of the text; keys are unique.
    Mapping(Entries<'t>),
}

/// A node of a tree.
#[derive(Clone, Copy, Debug)]
pub struct NodeRef<'t> {
    tree: &'t Tree<'t>,
    id: u32,
}

impl<'s> Tree<'s> {
    /// The value of the document.
    pub fn root<'t>(&'t self) -> NodeRef<'t>
    where
        's: 't,
    {
        NodeRef { tree: self, id: self.root }
    }

    /// The number of values, keys included, with aliases expanded: decoding creates that many. Long texts repeated by
    /// aliases count several times.
    pub fn len(&self) -> usize {
        self.nodes.len() + self.copied
    }

    /// Whether there is no value, which no text produces.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

impl<'t> NodeRef<'t> {
    fn node(self) -> &'t YamlNode<'t> {
        &self.tree.nodes[self.id as usize]
    }

    /// A number that identifies the node in its tree.
    pub fn id(self) -> usize {
        self.id as usize
    }

    /// The position of the node in the text, in bytes.
    pub fn span(self) -> Range<usize> {
        let node = self.node();
        node.start as usize..node.end as usize
    }

    /// The content of the node.
    pub fn content(self) -> YamlContent<'t> {
        match &self.node().content {
            NodeData::Scalar(text, Style::Plain) => YamlContent::Scalar(Scalar::of_plain(text)),
            NodeData::Scalar(text, _) => YamlContent::Scalar(Scalar::Text(text)),
            NodeData::Sequence(_, range) => {
                YamlContent::Sequence(Items { tree: self.tree, range: range.clone() })
            }
            NodeData::Mapping(_, range) => {
                YamlContent::Mapping(Entries { tree: self.tree, range: range.clone() })
            }
        }
    }

    /// The style of the node.
    pub fn style(self) -> Style {
        match &self.node().content {
            NodeData::Scalar(_, style) | NodeData::Sequence(style, _) | NodeData::Mapping(style, _) => *style,
        }
    }

    /// The text of a scalar (after unescaping), whatever its untyped meaning.
    pub fn scalar_text(self) -> Option<&'t str> {
        match &self.node().content {
            NodeData::Scalar(text, _) => Some(text),
            NodeData::Sequence(..) | NodeData::Mapping(..) => None,
        }
    }

    /// Whether the node is `null`, `~` or empty.
    pub fn is_null(self) -> bool {
        matches!(self.content(), YamlContent::Scalar(Scalar::Null))
    }

    /// The entries of a map.
    pub fn entries(self) -> Option<Entries<'t>> {
        match self.content() {
            YamlContent::Mapping(entries) => Some(entries),
            YamlContent::Scalar(_) | YamlContent::Sequence(_) => None,
        }
    }

    /// The value under `key`, if this is a map that has it.
    pub fn get(self, key: &str) -> Option<NodeRef<'t>> {
        self.entries()?.find(|(found, _)| found.scalar_text() == Some(key)).map(|(_, value)| value)
    }

    /// The key node spelled `key`, if this is a map that has it.
    pub fn key(self, key: &str) -> Option<NodeRef<'t>> {
        self.entries()?.find(|(found, _)| found.scalar_text() == Some(key)).map(|(found, _)| found)
    }

    /// The item at `index`, if this is a list that long.
    pub fn item(self, index: usize) -> Option<NodeRef<'t>> {
        match self.content() {
            YamlContent::Sequence(mut items) => items.nth(index),
            YamlContent::Scalar(_) | YamlContent::Mapping(_) => None,
        }
    }
}

/// The items of a list, in order.
#[derive(Clone, Debug)]
pub struct Items<'t> {
    tree: &'t Tree<'t>,
    range: Range<u32>,
}

impl<'t> Iterator for Items<'t> {
    type Item = NodeRef<'t>;

    fn next(&mut self) -> Option<NodeRef<'t>> {
        let position = self.range.next()?;
        Some(NodeRef { tree: self.tree, id: self.tree.children[position as usize] })
    }

    fn nth(&mut self, count: usize) -> Option<NodeRef<'t>> {
        let position = self.range.nth(count)?;
        Some(NodeRef { tree: self.tree, id: self.tree.children[position as usize] })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl ExactSizeIterator for Items<'_> {}

/// The entries of a map, in the order of the text. Keys are always scalars.
#[derive(Clone, Debug)]
pub struct Entries<'t> {
    tree: &'t Tree<'t>,
    range: Range<u32>,
}

impl<'t> Entries<'t> {
    /// No entries, for a null node that means an empty map.
    pub fn none(node: NodeRef<'t>) -> Entries<'t> {
        Entries { tree: node.tree, range: 0..0 }
    }
}

impl<'t> Iterator for Entries<'t> {
    type Item = (NodeRef<'t>, NodeRef<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.range.next()?;
        let value = self.range.next()?;
        let node = |position: u32| NodeRef { tree: self.tree, id: self.tree.children[position as usize] };
        Some((node(key), node(value)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let pairs = self.range.len() / 2;
        (pairs, Some(pairs))
    }
}

impl ExactSizeIterator for Entries<'_> {}
