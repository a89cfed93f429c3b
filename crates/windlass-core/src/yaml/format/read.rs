//! Builds a [`WrittenDocument`] from parser events.
//!
//! Events have the structure but not the positions of dashes, colons and commas. Between two nodes there are only
//! those, white space and comments, so they are found by walking the gap; anything else is rejected.

use std::ops::Range;

use granit_parser::{Event, ScalarStyle, Span, StructureStyle};

use super::format_refused::FormatRefused;
use super::gap::GapCursor;
use super::scalar;
use super::written::{
    CollectionLayout, WrittenCollection, WrittenComment, WrittenContent, WrittenDocument, WrittenItem,
    WrittenNode,
};

/// Takes the events of a text that has plain line ends.
pub(super) struct Reader<'s> {
    text: &'s str,
    cursor: GapCursor<'s>,
    open: Vec<UnfinishedCollection<'s>>,
    /// An anchored node, whose anchor is the next event.
    anchored: Option<(Event<'s>, Span)>,
    document: WrittenDocument<'s>,
    refused: Option<FormatRefused>,
}

/// A collection whose end has not been read.
struct UnfinishedCollection<'s> {
    properties: Vec<Range<usize>>,
    start: usize,
    /// The slot of this collection in the surrounding one.
    slot: NodeSlot,
    layout: CollectionLayout,
    column: usize,
    items: Vec<WrittenItem<'s>>,
    /// A key whose value was not read yet.
    key: Option<(usize, WrittenNode<'s>)>,
}

/// The position of a node in the surrounding collection.
#[derive(Clone, Copy)]
struct NodeSlot {
    start: usize,
    sign: NodePresence,
}

/// Whether a node reported by the parser is written in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodePresence {
    /// It has a token of its own, or a dash or colon before it.
    Written,
    /// It is not written: the value of `{key}`.
    Missing,
}

impl<'s> Reader<'s> {
    pub(super) fn new(text: &'s str) -> Reader<'s> {
        let document = WrittenDocument { marker: None, root: None, comments: Vec::new() };
        let cursor = GapCursor::new(text);
        Reader { text, cursor, open: Vec::new(), anchored: None, document, refused: None }
    }

    /// Takes the next event; after a rejection the rest is ignored.
    pub(super) fn take(&mut self, event: &Event<'s>, span: &Span) {
        if self.refused.is_none() {
            self.refused = self.take_or_refuse(event, span).err();
        }
    }

    /// The document, after the last event.
    pub(super) fn finish(mut self) -> Result<WrittenDocument<'s>, FormatRefused> {
        self.document.comments.sort_by_key(|comment| comment.start);
        self.refused.map_or(Ok(self.document), Err)
    }

    fn take_or_refuse(&mut self, event: &Event<'s>, span: &Span) -> Result<(), FormatRefused> {
        let place = range(span);
        match event {
            Event::Comment(..) => self.document.comments.push(WrittenComment::new(self.text, place)),
            Event::DocumentStart(true, _) => {
                self.cursor.expect(place.start)?;
                self.document.marker = Some(place.start);
                self.cursor.move_to(place.end);
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(place)?,
            Event::Anchor(..) => {
                if let Some((event, span)) = self.anchored.take() {
                    self.node(&event, &span, Some(place))?;
                }
            }
            _ if !event.is_node() => {}
            _ if event.anchor_id().is_some() => self.anchored = Some((event.clone(), *span)),
            _ => self.node(event, span, None)?,
        }
        Ok(())
    }

    fn node(
        &mut self,
        event: &Event<'s>,
        span: &Span,
        anchor: Option<Range<usize>>,
    ) -> Result<(), FormatRefused> {
        let place = range(span);
        let properties = properties(span, anchor);
        match event {
            Event::Scalar(value, style, ..) => {
                let content = match style {
                    ScalarStyle::Literal | ScalarStyle::Folded => WrittenContent::BlockScalar(value.clone()),
                    ScalarStyle::DoubleQuoted => WrittenContent::DoubleQuoted,
                    ScalarStyle::Plain if place.is_empty() => WrittenContent::Empty,
                    _ => WrittenContent::Words,
                };
                self.leaf(content, place, properties)
            }
            Event::SequenceStart(StructureStyle::Flow, ..) => {
                self.begin(CollectionLayout::FlowList, place, properties)
            }
            Event::SequenceStart(..) => self.begin(CollectionLayout::BlockList, place, properties),
            Event::MappingStart(StructureStyle::Block, ..) => {
                self.begin(CollectionLayout::BlockMap, place, properties)
            }
            Event::MappingStart(..) if self.text[place.start..].starts_with('{') => {
                self.begin(CollectionLayout::FlowMap, place, properties)
            }
            Event::MappingStart(..) => self.begin(CollectionLayout::FlowPair, place, properties),
            _ => self.leaf(WrittenContent::Alias, place, properties),
        }
    }

    fn leaf(
        &mut self,
        content: WrittenContent<'s>,
        mut place: Range<usize>,
        properties: Vec<Range<usize>>,
    ) -> Result<(), FormatRefused> {
        let own = match content {
            WrittenContent::Empty if properties.is_empty() => NodePresence::Missing,
            _ => NodePresence::Written,
        };
        let slot = self.enter(own)?;
        self.pass_properties(&properties)?;
        match &content {
            WrittenContent::Empty => place = self.cursor.at()..self.cursor.at(),
            WrittenContent::BlockScalar(value) => {
                // The parser's position is that of the text; the header comes first in the gap.
                place.start = self.cursor.skip();
                if !self.text[place.start..].starts_with(['|', '>']) {
                    return Err(FormatRefused { at: place.start });
                }
                scalar::check_block_scalar(self.text, &place, value)?;
            }
            _ => self.cursor.expect(place.start)?,
        }
        self.cursor.move_to(place.end);
        let width = self.leaf_width(&content, &place, &properties);
        self.put(slot, WrittenNode { properties, content, span: place, width });
        Ok(())
    }

    fn leaf_width(
        &self,
        content: &WrittenContent<'s>,
        place: &Range<usize>,
        properties: &[Range<usize>],
    ) -> Option<usize> {
        let text = &self.text[place.clone()];
        match content {
            WrittenContent::BlockScalar(_) => None,
            _ if text.contains('\n') => None,
            _ => Some(text.chars().count() + self.properties_width(properties)),
        }
    }

    /// The width of properties with a space after each; one too many if nothing follows, which does not matter.
    fn properties_width(&self, properties: &[Range<usize>]) -> usize {
        properties.iter().map(|property| self.text[property.clone()].chars().count() + 1).sum()
    }

    fn begin(
        &mut self,
        layout: CollectionLayout,
        place: Range<usize>,
        properties: Vec<Range<usize>>,
    ) -> Result<(), FormatRefused> {
        if self.open.last().is_some_and(|frame| frame.layout.is_map() && frame.key.is_none()) {
            return Err(FormatRefused { at: place.start });
        }
        let slot = self.enter(NodePresence::Written)?;
        self.pass_properties(&properties)?;
        let start = self.cursor.skip();
        if matches!(layout, CollectionLayout::FlowList | CollectionLayout::FlowMap) {
            self.cursor.expect(place.start)?;
            self.cursor.move_to(place.end);
        }
        let column = self.block_column(layout);
        let frame =
            UnfinishedCollection { properties, start, slot, layout, column, items: Vec::new(), key: None };
        self.open.push(frame);
        Ok(())
    }

    /// The column from which comments belong to a block collection that begins here.
    fn block_column(&self, layout: CollectionLayout) -> usize {
        if !layout.is_block() {
            return 0;
        }
        let column = self.cursor.column();
        let around = self.open.last().filter(|frame| frame.layout == CollectionLayout::BlockMap);
        // A list may start at its key's column; a comment there belongs to the next node, not to the list.
        let is_level =
            layout == CollectionLayout::BlockList && around.is_some_and(|frame| frame.column == column);
        if is_level { column + 1 } else { column }
    }

    fn end(&mut self, place: Range<usize>) -> Result<(), FormatRefused> {
        let Some(frame) = self.open.pop() else { return Err(FormatRefused { at: place.start }) };
        if matches!(frame.layout, CollectionLayout::FlowList | CollectionLayout::FlowMap) {
            self.cursor.skip_comma();
            self.cursor.expect(place.start)?;
            self.cursor.move_to(place.end);
        }
        let width = self.collection_width(&frame);
        let UnfinishedCollection { properties, start, slot, layout, column, items, .. } = frame;
        let content = WrittenContent::Collection(WrittenCollection { layout, column, items });
        self.put(slot, WrittenNode { properties, content, span: start..self.cursor.at(), width });
        Ok(())
    }

    fn collection_width(&self, frame: &UnfinishedCollection<'s>) -> Option<usize> {
        let has_comment = self.document.comments.last().is_some_and(|comment| comment.start > frame.start);
        if frame.layout.is_block() || has_comment {
            return None;
        }
        let (opening, closing) = frame.layout.brackets();
        let separators = 2 * frame.items.len().saturating_sub(1);
        let fixed = opening.len() + closing.len() + separators + self.properties_width(&frame.properties);
        frame.items.iter().try_fold(fixed, |sum, item| Some(sum + item_width(item)?))
    }

    /// Walks to the next node, over the dash, comma or colon before it.
    fn enter(&mut self, own: NodePresence) -> Result<NodeSlot, FormatRefused> {
        let Some(frame) = self.open.last() else {
            return Ok(NodeSlot { start: self.cursor.skip(), sign: NodePresence::Written });
        };
        let start = match (frame.layout, &frame.key) {
            (CollectionLayout::FlowList, _) | (CollectionLayout::FlowMap, None) => self.cursor.skip_comma(),
            _ => self.cursor.skip(),
        };
        let has_colon = self.cursor.is_before(':');
        match (frame.layout, &frame.key) {
            (CollectionLayout::BlockList, _) => self.cursor.pass('-')?,
            (CollectionLayout::FlowList, _) => {}
            (_, Some(_)) if own == NodePresence::Missing && !has_colon => {
                return Ok(NodeSlot { start, sign: own });
            }
            (_, Some(_)) => self.cursor.pass(':')?,
            (_, None) if own == NodePresence::Missing && !has_colon => {
                return Err(FormatRefused { at: start });
            }
            (_, None) => {}
        }
        Ok(NodeSlot { start, sign: NodePresence::Written })
    }

    /// Adds a complete node to its collection.
    fn put(&mut self, slot: NodeSlot, node: WrittenNode<'s>) {
        let Some(frame) = self.open.last_mut() else {
            self.document.root = Some(node);
            return;
        };
        if !frame.layout.is_map() {
            frame.items.push(WrittenItem { start: slot.start, key: None, value: Some(node) });
            return;
        }
        match frame.key.take() {
            None => frame.key = Some((slot.start, node)),
            Some((start, key)) => {
                let value = (slot.sign == NodePresence::Written).then_some(node);
                frame.items.push(WrittenItem { start, key: Some(key), value });
            }
        }
    }

    fn pass_properties(&mut self, properties: &[Range<usize>]) -> Result<(), FormatRefused> {
        for property in properties {
            self.cursor.expect(property.start)?;
            self.cursor.move_to(property.end);
        }
        Ok(())
    }
}

fn item_width(item: &WrittenItem<'_>) -> Option<usize> {
    let key = match &item.key {
        Some(key) => key.width? + key.colon().len() + 1,
        None => 0,
    };
    let value = item.value.as_ref().map_or(Some(0), |value| value.width)?;
    Some(key + value)
}

fn properties(span: &Span, anchor: Option<Range<usize>>) -> Vec<Range<usize>> {
    let tag = span.tag_span().map(|tag| range(&tag));
    let mut properties: Vec<Range<usize>> = tag.into_iter().chain(anchor).collect();
    properties.sort_by_key(|property| property.start);
    properties
}

fn range(span: &Span) -> Range<usize> {
    span.byte_range().unwrap_or(0..0)
}
