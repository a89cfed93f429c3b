//! A document as it was written: what stands where, with nothing of what it means.

use std::borrow::Cow;
use std::ops::Range;

/// Everything a file holds, in the order of the text.
#[derive(Debug)]
pub(super) struct Document<'s> {
    /// Where `---` stands, if it was written.
    pub(super) marker: Option<usize>,
    pub(super) root: Option<Node<'s>>,
    pub(super) comments: Vec<Comment<'s>>,
}

/// A value or a key.
#[derive(Debug)]
pub(super) struct Node<'s> {
    /// Anchor and tag, in the order they were written.
    pub(super) properties: Vec<Range<usize>>,
    pub(super) content: Content<'s>,
    /// Without properties; for a block scalar from its header on.
    pub(super) span: Range<usize>,
    /// Characters it takes on one line; absent if it cannot be written on one.
    pub(super) width: Option<usize>,
}

/// What a node is made of.
#[derive(Debug)]
pub(super) enum Content<'s> {
    /// Nothing was written where a value belongs.
    Empty,
    /// `*name`.
    Alias,
    /// A plain or single-quoted scalar.
    Words,
    /// A double-quoted scalar, in which a backslash can protect white space.
    DoubleQuoted,
    /// A scalar after `|` or `>`, with its text as the parser read it.
    BlockScalar(Cow<'s, str>),
    Collection(Collection<'s>),
}

/// A list or map.
#[derive(Debug)]
pub(super) struct Collection<'s> {
    pub(super) layout: Layout,
    /// Comments at this column or right of it, after the last item, belong to the collection.
    pub(super) column: usize,
    pub(super) items: Vec<Item<'s>>,
}

/// How a collection was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    BlockList,
    BlockMap,
    FlowList,
    FlowMap,
    /// A map of one entry inside `[…]`, without braces of its own.
    FlowPair,
}

/// An item of a list (without key) or an entry of a map.
#[derive(Debug)]
pub(super) struct Item<'s> {
    /// Where its first token stands, the dash included.
    pub(super) start: usize,
    pub(super) key: Option<Node<'s>>,
    /// Absent for a key without colon, as in `{key}`.
    pub(super) value: Option<Node<'s>>,
}

/// A comment with its `#`.
#[derive(Debug)]
pub(super) struct Comment<'s> {
    pub(super) start: usize,
    pub(super) text: &'s str,
    pub(super) position: CommentPosition,
}

/// Where on its line a comment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommentPosition {
    OwnLine { column: usize },
    Trailing { spaces: usize },
}

impl Layout {
    pub(super) fn is_map(self) -> bool {
        matches!(self, Layout::BlockMap | Layout::FlowMap | Layout::FlowPair)
    }

    pub(super) fn is_block(self) -> bool {
        matches!(self, Layout::BlockList | Layout::BlockMap)
    }

    /// What stands before and after the items in the text.
    pub(super) fn brackets(self) -> (&'static str, &'static str) {
        match self {
            Layout::FlowList => ("[", "]"),
            Layout::FlowMap => ("{", "}"),
            Layout::BlockList | Layout::BlockMap | Layout::FlowPair => ("", ""),
        }
    }
}

impl Node<'_> {
    /// Where its first token stands, properties included.
    pub(super) fn start(&self) -> usize {
        self.properties.first().map_or(self.span.start, |property| property.start)
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self.content, Content::Empty)
    }

    /// What separates this key from its value: names of anchors and aliases may contain colons.
    pub(super) fn colon(&self) -> &'static str {
        match self.content {
            Content::Alias => " :",
            Content::Empty if !self.properties.is_empty() => " :",
            _ => ":",
        }
    }
}

impl<'s> Comment<'s> {
    /// Reads the comment at `span` with the white space before it.
    pub(super) fn new(text: &'s str, span: Range<usize>) -> Comment<'s> {
        let start = span.start;
        let before = &text[text[..start].rfind('\n').map_or(0, |found| found + 1)..start];
        let written = before.trim_end_matches([' ', '\t']);
        let position = match written {
            "" => CommentPosition::OwnLine { column: before.chars().count() },
            // The end marker is not written again, so there is no line to stay on.
            "..." => CommentPosition::OwnLine { column: 0 },
            _ => CommentPosition::Trailing { spaces: spaces(&before[written.len()..]) },
        };
        Comment { start, text: text[span].trim_end_matches([' ', '\t']), position }
    }
}

fn spaces(gap: &str) -> usize {
    match gap.contains('\t') {
        true => 1,
        false => gap.len().max(1),
    }
}
