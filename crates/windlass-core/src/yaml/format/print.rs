//! Writes lines: indentation, blank lines and comments. `block`, `flow` and `scalar` write the content of the lines.
//!
//! Tokens are written in the order of the source, and before each token all comments that preceded it. So no comment
//! can be lost or change its order.

use super::written::{CommentPosition, WrittenComment, WrittenContent, WrittenDocument, WrittenNode};
use crate::yaml::MAX_FILE_BYTES;

/// Spaces per level.
pub(super) const STEP: usize = 2;

/// Writes a document in the one layout.
pub(super) fn print(text: &str, document: &WrittenDocument<'_>) -> String {
    let mut printer = Printer {
        text,
        comments: document.comments.iter(),
        output: String::with_capacity(text.len() + text.len() / 4),
        line: LineState::Blank,
        line_indent: 0,
        flow_depth: 0,
        text_end: 0,
    };
    if let Some(marker) = document.marker {
        printer.comments_before(marker, 0);
        printer.new_line(0, marker);
        printer.push("---");
    }
    if let Some(root) = &document.root {
        if !root.is_empty() || !root.properties.is_empty() {
            printer.comments_before(root.start(), 0);
            printer.line = LineState::Full;
        }
        printer.node(root, NodePlacement { indent: 0, first: FirstItem::OwnLine, limit: usize::MAX });
    }
    printer.comments_before(usize::MAX, 0);
    if !printer.output.is_empty() {
        printer.output.push('\n');
    }
    printer.output
}

pub(super) struct Printer<'p, 's> {
    pub(super) text: &'p str,
    comments: std::slice::Iter<'p, WrittenComment<'s>>,
    output: String,
    line: LineState,
    /// The indentation of the current line, not counting a dash.
    pub(super) line_indent: usize,
    /// How many multi-line flow collections are being written.
    pub(super) flow_depth: usize,
    /// The end of the last block scalar in the source: blank lines before it are text.
    text_end: usize,
}

/// The state of the current line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineState {
    /// Only indentation; the next token follows without space.
    Blank,
    /// The next token or comment follows after a space.
    Open,
    /// It ends with a comment or block text; the next token needs a new line.
    Full,
}

/// The placement of a node.
#[derive(Clone, Copy)]
pub(super) struct NodePlacement {
    /// The indentation of its lines.
    pub(super) indent: usize,
    pub(super) first: FirstItem,
    /// The position of the next node in the source.
    pub(super) limit: usize,
}

/// Where the first item of a block collection goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstItem {
    /// After the dash.
    SameLine,
    OwnLine,
}

impl Printer<'_, '_> {
    /// Writes a value or key with its properties.
    pub(super) fn node(&mut self, node: &WrittenNode<'_>, place: NodePlacement) {
        for property in &node.properties {
            self.begin(property.start, place.indent);
            self.push(&self.text[property.clone()]);
        }
        match &node.content {
            WrittenContent::Empty => {}
            WrittenContent::Alias | WrittenContent::Words | WrittenContent::DoubleQuoted => {
                self.words(node, place.indent);
            }
            WrittenContent::BlockScalar(value) => self.block_scalar(node, value, place.indent),
            WrittenContent::Collection(collection) if collection.layout.is_block() => {
                let is_bare = node.properties.is_empty();
                let first = if is_bare { place.first } else { FirstItem::OwnLine };
                self.block(collection, NodePlacement { first, ..place });
            }
            WrittenContent::Collection(collection) => self.flow(node, collection, place.indent),
        }
    }

    /// Prepares for the token at `at`: on the current line, or on a new one after a comment.
    pub(super) fn begin(&mut self, at: usize, indent: usize) {
        self.comments_before(at, indent);
        match self.line {
            LineState::Blank => {}
            LineState::Open => self.push(" "),
            LineState::Full => self.new_line(indent, at),
        }
    }

    /// Prepares for the first token of an item after a dash.
    pub(super) fn begin_item(&mut self, at: usize, place: NodePlacement) {
        self.comments_before(at, place.indent);
        match (place.first, self.line) {
            (FirstItem::SameLine, LineState::Open) => {
                self.push(" ");
                self.line = LineState::Blank;
            }
            _ => self.new_line(place.indent, at),
        }
    }

    /// Begins a line for the node at `at` in the source.
    pub(super) fn new_line(&mut self, indent: usize, at: usize) {
        if !self.output.is_empty() {
            self.push("\n");
            if self.is_after_blank_line(at) {
                self.push("\n");
            }
        }
        self.push_spaces(indent);
        self.line = LineState::Blank;
        self.line_indent = indent;
    }

    /// Begins a line inside a scalar; empty lines are not indented.
    pub(super) fn text_line(&mut self, indent: usize, line: &str) {
        self.push("\n");
        if !line.is_empty() {
            self.push_spaces(indent);
            self.push(line);
        }
    }

    /// Ends a block scalar, which ends at `at` in the source: nothing may follow on its last line.
    pub(super) fn end_text(&mut self, at: usize) {
        self.line = LineState::Full;
        self.text_end = at;
    }

    /// Writes all comments before `at` in the source.
    pub(super) fn comments_before(&mut self, at: usize, indent: usize) {
        self.comments_right_of(0, at, indent);
    }

    /// Writes comments before `at`, as long as they are not left of `column`.
    pub(super) fn comments_right_of(&mut self, column: usize, at: usize, indent: usize) {
        while let Some(comment) = self.comments.as_slice().first() {
            let is_left =
                matches!(comment.position, CommentPosition::OwnLine { column: own } if own < column);
            if comment.start >= at || is_left {
                return;
            }
            self.comments.next();
            match comment.position {
                CommentPosition::Trailing { spaces } if self.line == LineState::Open => {
                    self.push_spaces(spaces);
                }
                _ => self.new_line(indent, comment.start),
            }
            self.push(comment.text);
            self.line = LineState::Full;
        }
    }

    /// Appends to the current line. A result that is already too large does not grow further.
    pub(super) fn push(&mut self, text: &str) {
        if self.output.len() <= MAX_FILE_BYTES {
            self.output.push_str(text);
        }
        self.line = LineState::Open;
    }

    fn push_spaces(&mut self, count: usize) {
        if self.output.len() <= MAX_FILE_BYTES {
            self.output.extend(std::iter::repeat_n(' ', count));
        }
    }

    /// The number of characters on the current line.
    pub(super) fn column(&self) -> usize {
        let line = self.output.rfind('\n').map_or(0, |found| found + 1);
        self.output[line..].chars().count()
    }

    fn is_after_blank_line(&self, at: usize) -> bool {
        let blank = [' ', '\t'];
        let before = self.text[self.text_end..at].trim_end_matches(blank);
        let above = before.strip_suffix('\n');
        above.is_some_and(|above| above.trim_end_matches(blank).ends_with('\n'))
    }
}
