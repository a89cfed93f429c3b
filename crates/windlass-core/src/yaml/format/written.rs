//! The nodes of a document with their positions and styles, without their meaning.

use std::borrow::Cow;
use std::ops::Range;

/// Everything in a file, in the order of the text.
#[derive(Debug)]
pub(in crate::yaml) struct WrittenDocument<'s> {
    /// The position of `---`, if it was written.
    pub(in crate::yaml) marker: Option<usize>,
    pub(in crate::yaml) root: Option<WrittenNode<'s>>,
    pub(in crate::yaml) comments: Vec<WrittenComment<'s>>,
}

/// A value or a key.
#[derive(Debug)]
pub(in crate::yaml) struct WrittenNode<'s> {
    /// Anchor and tag, in the order they were written.
    pub(in crate::yaml) properties: Vec<Range<usize>>,
    pub(in crate::yaml) content: WrittenContent<'s>,
    /// Without properties; for a block scalar from its header on.
    pub(in crate::yaml) span: Range<usize>,
    /// Characters it takes on one line; absent if it cannot be written on one.
    pub(in crate::yaml) width: Option<usize>,
}

/// The content of a node.
#[derive(Debug)]
pub(in crate::yaml) enum WrittenContent<'s> {
    /// An empty value.
    Empty,
    /// `*name`.
    Alias,
    /// A plain or single-quoted scalar.
    Words,
    /// A double-quoted scalar, in which a backslash can protect white space.
    DoubleQuoted,
    /// A scalar after `|` or `>`, with its text as the parser read it.
    BlockScalar(Cow<'s, str>),
    Collection(WrittenCollection<'s>),
}

/// A list or map.
#[derive(Debug)]
pub(in crate::yaml) struct WrittenCollection<'s> {
    pub(in crate::yaml) layout: CollectionLayout,
    /// Comments after the last item, at this column or right of it, belong to the collection.
    pub(in crate::yaml) column: usize,
    pub(in crate::yaml) items: Vec<WrittenItem<'s>>,
}

/// The layout of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::yaml) enum CollectionLayout {
    BlockList,
    BlockMap,
    FlowList,
    FlowMap,
    /// A map of one entry inside `[…]`, without braces of its own.
    FlowPair,
}

/// An item of a list (without key) or an entry of a map.
#[derive(Debug)]
pub(in crate::yaml) struct WrittenItem<'s> {
    /// The position of its first token, including the dash.
    pub(in crate::yaml) start: usize,
    pub(in crate::yaml) key: Option<WrittenNode<'s>>,
    /// Absent for a key without colon, as in `{key}`.
    pub(in crate::yaml) value: Option<WrittenNode<'s>>,
}

/// A comment with its `#`.
#[derive(Debug)]
pub(in crate::yaml) struct WrittenComment<'s> {
    pub(in crate::yaml) start: usize,
    pub(in crate::yaml) text: &'s str,
    pub(in crate::yaml) position: CommentPosition,
}

/// The position of a comment on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::yaml) enum CommentPosition {
    OwnLine { column: usize },
    Trailing { spaces: usize },
}

impl CollectionLayout {
    pub(in crate::yaml) fn is_map(self) -> bool {
        matches!(self, CollectionLayout::BlockMap | CollectionLayout::FlowMap | CollectionLayout::FlowPair)
    }

    pub(in crate::yaml) fn is_block(self) -> bool {
        matches!(self, CollectionLayout::BlockList | CollectionLayout::BlockMap)
    }

    /// The brackets around the items in the text.
    pub(in crate::yaml) fn brackets(self) -> (&'static str, &'static str) {
        match self {
            CollectionLayout::FlowList => ("[", "]"),
            CollectionLayout::FlowMap => ("{", "}"),
            CollectionLayout::BlockList | CollectionLayout::BlockMap | CollectionLayout::FlowPair => ("", ""),
        }
    }
}

impl WrittenNode<'_> {
    /// The position of its first token, including properties.
    pub(in crate::yaml) fn start(&self) -> usize {
        self.properties.first().map_or(self.span.start, |property| property.start)
    }

    pub(in crate::yaml) fn is_empty(&self) -> bool {
        matches!(self.content, WrittenContent::Empty)
    }

    /// The separator between this key and its value: names of anchors and aliases may contain colons.
    pub(in crate::yaml) fn colon(&self) -> &'static str {
        match self.content {
            WrittenContent::Alias => " :",
            WrittenContent::Empty if !self.properties.is_empty() => " :",
            _ => ":",
        }
    }
}

impl<'s> WrittenComment<'s> {
    /// Reads the comment at `span` with the white space before it.
    pub(in crate::yaml) fn new(text: &'s str, span: Range<usize>) -> WrittenComment<'s> {
        let start = span.start;
        let before = &text[text[..start].rfind('\n').map_or(0, |found| found + 1)..start];
        let written = before.trim_end_matches([' ', '\t']);
        let position = match written {
            "" => CommentPosition::OwnLine { column: before.chars().count() },
            // The end marker is not written again, so the comment needs its own line.
            "..." => CommentPosition::OwnLine { column: 0 },
            _ => CommentPosition::Trailing { spaces: spaces(&before[written.len()..]) },
        };
        WrittenComment { start, text: text[span].trim_end_matches([' ', '\t']), position }
    }
}

fn spaces(gap: &str) -> usize {
    match gap.contains('\t') {
        true => 1,
        false => gap.len().max(1),
    }
}
