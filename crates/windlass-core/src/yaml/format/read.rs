//! Parser events → [`Document`].
//!
//! Events tell the structure but not where dashes, colons and commas stand. Between two nodes there is nothing but
//! those, white space and comments, so they are found by walking the gap; anything else found there is refused.

use std::ops::Range;

use granit_parser::{Event, ScalarStyle, Span, StructureStyle};

use super::gap::Cursor;
use super::refused::Refused;
use super::scalar;
use super::written::{Collection, Comment, Content, Document, Item, Layout, Node};

/// Takes the events of a text that has plain line ends.
pub(super) struct Reader<'s> {
    text: &'s str,
    cursor: Cursor<'s>,
    open: Vec<Frame<'s>>,
    /// An anchored node, whose anchor is the next event.
    anchored: Option<(Event<'s>, Span)>,
    document: Document<'s>,
    refused: Option<Refused>,
}

/// A collection whose end has not been read.
struct Frame<'s> {
    properties: Vec<Range<usize>>,
    start: usize,
    /// Where this collection's own item begins in the one around it.
    slot: Slot,
    layout: Layout,
    column: usize,
    items: Vec<Item<'s>>,
    /// A key that waits for its value.
    key: Option<(usize, Node<'s>)>,
}

/// The place a node takes in the collection around it.
#[derive(Clone, Copy)]
struct Slot {
    start: usize,
    sign: Sign,
}

/// What shows that a node was meant where the parser saw one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// A token of its own, or the dash or colon before it.
    Written,
    /// Nothing: the value of `{key}`.
    Missing,
}

impl<'s> Reader<'s> {
    pub(super) fn new(text: &'s str) -> Reader<'s> {
        let document = Document { marker: None, root: None, comments: Vec::new() };
        let cursor = Cursor::new(text);
        Reader { text, cursor, open: Vec::new(), anchored: None, document, refused: None }
    }

    /// Takes the next event; once something was refused, the rest no longer matters.
    pub(super) fn take(&mut self, event: &Event<'s>, span: &Span) {
        if self.refused.is_none() {
            self.refused = self.take_or_refuse(event, span).err();
        }
    }

    /// What was read, after the last event.
    pub(super) fn finish(mut self) -> Result<Document<'s>, Refused> {
        self.document.comments.sort_by_key(|comment| comment.start);
        self.refused.map_or(Ok(self.document), Err)
    }

    fn take_or_refuse(&mut self, event: &Event<'s>, span: &Span) -> Result<(), Refused> {
        let place = range(span);
        match event {
            Event::Comment(..) => self.document.comments.push(Comment::new(self.text, place)),
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

    fn node(&mut self, event: &Event<'s>, span: &Span, anchor: Option<Range<usize>>) -> Result<(), Refused> {
        let place = range(span);
        let properties = properties(span, anchor);
        match event {
            Event::Scalar(value, style, ..) => {
                let content = match style {
                    ScalarStyle::Literal | ScalarStyle::Folded => Content::BlockScalar(value.clone()),
                    ScalarStyle::DoubleQuoted => Content::DoubleQuoted,
                    ScalarStyle::Plain if place.is_empty() => Content::Empty,
                    _ => Content::Words,
                };
                self.leaf(content, place, properties)
            }
            Event::SequenceStart(StructureStyle::Flow, ..) => self.begin(Layout::FlowList, place, properties),
            Event::SequenceStart(..) => self.begin(Layout::BlockList, place, properties),
            Event::MappingStart(StructureStyle::Block, ..) => self.begin(Layout::BlockMap, place, properties),
            Event::MappingStart(..) if self.text[place.start..].starts_with('{') => {
                self.begin(Layout::FlowMap, place, properties)
            }
            Event::MappingStart(..) => self.begin(Layout::FlowPair, place, properties),
            _ => self.leaf(Content::Alias, place, properties),
        }
    }

    fn leaf(
        &mut self,
        content: Content<'s>,
        mut place: Range<usize>,
        properties: Vec<Range<usize>>,
    ) -> Result<(), Refused> {
        let own = match content {
            Content::Empty if properties.is_empty() => Sign::Missing,
            _ => Sign::Written,
        };
        let slot = self.enter(own)?;
        self.pass_properties(&properties)?;
        match &content {
            Content::Empty => place = self.cursor.at()..self.cursor.at(),
            Content::BlockScalar(value) => {
                // The parser's place begins with the text; the header is the next thing in the gap.
                place.start = self.cursor.skip();
                if !self.text[place.start..].starts_with(['|', '>']) {
                    return Err(Refused { at: place.start });
                }
                scalar::check_block_scalar(self.text, &place, value)?;
            }
            _ => self.cursor.expect(place.start)?,
        }
        self.cursor.move_to(place.end);
        let width = self.leaf_width(&content, &place, &properties);
        self.put(slot, Node { properties, content, span: place, width });
        Ok(())
    }

    fn leaf_width(
        &self,
        content: &Content<'s>,
        place: &Range<usize>,
        properties: &[Range<usize>],
    ) -> Option<usize> {
        let text = &self.text[place.clone()];
        match content {
            Content::BlockScalar(_) => None,
            _ if text.contains('\n') => None,
            _ => Some(text.chars().count() + self.properties_width(properties)),
        }
    }

    /// Properties with a space behind each; one too many if nothing follows, which no layout depends on.
    fn properties_width(&self, properties: &[Range<usize>]) -> usize {
        properties.iter().map(|property| self.text[property.clone()].chars().count() + 1).sum()
    }

    fn begin(
        &mut self,
        layout: Layout,
        place: Range<usize>,
        properties: Vec<Range<usize>>,
    ) -> Result<(), Refused> {
        if self.open.last().is_some_and(|frame| frame.layout.is_map() && frame.key.is_none()) {
            return Err(Refused { at: place.start });
        }
        let slot = self.enter(Sign::Written)?;
        self.pass_properties(&properties)?;
        let start = self.cursor.skip();
        if matches!(layout, Layout::FlowList | Layout::FlowMap) {
            self.cursor.expect(place.start)?;
            self.cursor.move_to(place.end);
        }
        let column = self.block_column(layout);
        let frame = Frame { properties, start, slot, layout, column, items: Vec::new(), key: None };
        self.open.push(frame);
        Ok(())
    }

    /// The column from which comments belong to a block collection that begins here.
    fn block_column(&self, layout: Layout) -> usize {
        if !layout.is_block() {
            return 0;
        }
        let column = self.cursor.column();
        let around = self.open.last().filter(|frame| frame.layout == Layout::BlockMap);
        // A list may start at its key's column; a comment there belongs to what follows, not to the list.
        let is_level = layout == Layout::BlockList && around.is_some_and(|frame| frame.column == column);
        if is_level { column + 1 } else { column }
    }

    fn end(&mut self, place: Range<usize>) -> Result<(), Refused> {
        let Some(frame) = self.open.pop() else { return Err(Refused { at: place.start }) };
        if matches!(frame.layout, Layout::FlowList | Layout::FlowMap) {
            self.cursor.skip_comma();
            self.cursor.expect(place.start)?;
            self.cursor.move_to(place.end);
        }
        let width = self.collection_width(&frame);
        let Frame { properties, start, slot, layout, column, items, .. } = frame;
        let content = Content::Collection(Collection { layout, column, items });
        self.put(slot, Node { properties, content, span: start..self.cursor.at(), width });
        Ok(())
    }

    fn collection_width(&self, frame: &Frame<'s>) -> Option<usize> {
        let has_comment = self.document.comments.last().is_some_and(|comment| comment.start > frame.start);
        if frame.layout.is_block() || has_comment {
            return None;
        }
        let (opening, closing) = frame.layout.brackets();
        let separators = 2 * frame.items.len().saturating_sub(1);
        let fixed = opening.len() + closing.len() + separators + self.properties_width(&frame.properties);
        frame.items.iter().try_fold(fixed, |sum, item| Some(sum + item_width(item)?))
    }

    /// Walks to where the next node belongs, over the dash, comma or colon that announces it.
    fn enter(&mut self, own: Sign) -> Result<Slot, Refused> {
        let Some(frame) = self.open.last() else {
            return Ok(Slot { start: self.cursor.skip(), sign: Sign::Written });
        };
        let start = match (frame.layout, &frame.key) {
            (Layout::FlowList, _) | (Layout::FlowMap, None) => self.cursor.skip_comma(),
            _ => self.cursor.skip(),
        };
        let has_colon = self.cursor.is_before(':');
        match (frame.layout, &frame.key) {
            (Layout::BlockList, _) => self.cursor.pass('-')?,
            (Layout::FlowList, _) => {}
            (_, Some(_)) if own == Sign::Missing && !has_colon => return Ok(Slot { start, sign: own }),
            (_, Some(_)) => self.cursor.pass(':')?,
            (_, None) if own == Sign::Missing && !has_colon => return Err(Refused { at: start }),
            (_, None) => {}
        }
        Ok(Slot { start, sign: Sign::Written })
    }

    /// Puts a finished node where it belongs.
    fn put(&mut self, slot: Slot, node: Node<'s>) {
        let Some(frame) = self.open.last_mut() else {
            self.document.root = Some(node);
            return;
        };
        if !frame.layout.is_map() {
            frame.items.push(Item { start: slot.start, key: None, value: Some(node) });
            return;
        }
        match frame.key.take() {
            None => frame.key = Some((slot.start, node)),
            Some((start, key)) => {
                let value = (slot.sign == Sign::Written).then_some(node);
                frame.items.push(Item { start, key: Some(key), value });
            }
        }
    }

    fn pass_properties(&mut self, properties: &[Range<usize>]) -> Result<(), Refused> {
        for property in properties {
            self.cursor.expect(property.start)?;
            self.cursor.move_to(property.end);
        }
        Ok(())
    }
}

fn item_width(item: &Item<'_>) -> Option<usize> {
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
