//! A fast reader for simple files: the subset of YAML that most fleets use, read line by line.
//!
//! Most files are block maps and lists with one-line values, and for those the general parser does much unnecessary
//! work. This reader knows only that subset. At anything else, and at any error, it gives up, and the general parser
//! reads the file from the start. So it never reports problems, and what it accepts must give exactly the tree of the
//! general parser, positions included. `quick_tests.rs` verifies that.

use std::borrow::Cow;

use super::tree::{NodeData, Style, Tree, YamlNode};
use super::{MAX_DEPTH, MAX_EXPANDED_NODES};

/// The general parser rejects longer keys.
const MAX_KEY: usize = 512;

/// Reads a text, or gives up. The text has passed the checks for size and control characters.
pub(super) fn read(text: &str) -> Option<Tree<'_>> {
    if !is_plain_text(text) {
        return None;
    }
    let mut quick = QuickReader {
        text,
        bytes: text.as_bytes(),
        line: 0,
        ahead: None,
        tree: Tree::default(),
        pending: Vec::new(),
    };
    let first = quick.peek()?;
    if first.column != 0 || quick.is_dash(first.position) {
        return None;
    }
    let root = quick.mapping(first, 1)?;
    quick.tree.root = root;
    quick.peek().is_none().then_some(quick.tree)
}

/// Whether lines end with LF only and no character is a line end for some readers and not for others.
fn is_plain_text(text: &str) -> bool {
    let odd = ['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'];
    !text.bytes().any(|byte| byte == b'\r' || byte == b'\t') && (text.is_ascii() || !text.contains(odd))
}

/// The next line with content.
#[derive(Clone, Copy)]
struct NextLine {
    column: usize,
    position: usize,
}

struct QuickReader<'s> {
    text: &'s str,
    bytes: &'s [u8],
    /// The start of the next unread line.
    line: usize,
    ahead: Option<NextLine>,
    tree: Tree<'s>,
    /// Children of all open collections, innermost last.
    pending: Vec<u32>,
}

impl<'s> QuickReader<'s> {
    fn byte(&self, position: usize) -> u8 {
        self.bytes.get(position).copied().unwrap_or(b'\n')
    }

    /// The next line with content; blank lines and comments are skipped.
    fn peek(&mut self) -> Option<NextLine> {
        while self.ahead.is_none() && self.line < self.bytes.len() {
            let position = self.skip_spaces(self.line);
            match self.byte(position) {
                b'\n' => self.line = position + 1,
                b'#' => self.line = self.line_end(position) + 1,
                _ => self.ahead = Some(NextLine { column: position - self.line, position }),
            }
        }
        self.ahead
    }

    fn skip_spaces(&self, mut position: usize) -> usize {
        while self.bytes.get(position) == Some(&b' ') {
            position += 1;
        }
        position
    }

    fn line_end(&self, position: usize) -> usize {
        self.bytes[position..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(self.bytes.len(), |found| position + found)
    }

    /// Ends the line at `position`, after which only spaces and a comment may follow.
    fn end_line(&mut self, position: usize) -> Option<()> {
        let rest = self.skip_spaces(position);
        match self.byte(rest) {
            b'\n' => self.line = rest + 1,
            b'#' if rest > position => self.line = self.line_end(rest) + 1,
            _ => return None,
        }
        self.ahead = None;
        Some(())
    }

    fn is_dash(&self, position: usize) -> bool {
        self.byte(position) == b'-' && matches!(self.byte(position + 1), b' ' | b'\n')
    }

    fn add(&mut self, content: NodeData<'s>, start: usize, end: usize) -> u32 {
        let id = self.tree.nodes.len() as u32;
        self.tree.nodes.push(YamlNode { content, start: start as u32, end: end as u32 });
        id
    }

    fn end_of(&self, id: u32) -> usize {
        self.tree.nodes[id as usize].end as usize
    }

    /// Moves the children from `first` on into a map, unless it has a duplicate key.
    fn close_mapping(&mut self, style: Style, first: usize, start: usize, end: usize) -> Option<u32> {
        let mut findings = Vec::new();
        // There are no aliases here: merged entries are in the text, and not longer than it.
        let mut merges = MAX_EXPANDED_NODES;
        let kept = self.tree.check_entries(&self.pending[first..], &mut merges, &mut findings);
        if !findings.is_empty() {
            return None;
        }
        self.pending.truncate(first);
        let from = self.tree.children.len() as u32;
        self.tree.children.extend(kept);
        let stored = from..self.tree.children.len() as u32;
        Some(self.add(NodeData::Mapping(style, stored), start, end))
    }

    fn close_sequence(&mut self, style: Style, first: usize, start: usize, end: usize) -> u32 {
        let from = self.tree.children.len() as u32;
        self.tree.children.extend(self.pending.drain(first..));
        let stored = from..self.tree.children.len() as u32;
        self.add(NodeData::Sequence(style, stored), start, end)
    }

    /// Reads a block map whose first key is at `first`, on its own line or after a dash.
    fn mapping(&mut self, first: NextLine, depth: usize) -> Option<u32> {
        if depth > MAX_DEPTH {
            return None;
        }
        let first_child = self.pending.len();
        let mut at = first;
        let end = loop {
            let (key, after) = self.key(at.position)?;
            self.pending.push(key);
            let value = self.value(after, first.column, depth)?;
            self.pending.push(value);
            match self.peek() {
                Some(next) if next.column == first.column && !self.is_dash(next.position) => at = next,
                Some(next) if next.column >= first.column => return None,
                _ => break self.end_of(value),
            }
        };
        self.close_mapping(Style::Block, first_child, first.position, end)
    }

    /// Reads a block list whose first dash is at `first`, below a key at `column`.
    fn sequence(&mut self, first: NextLine, column: usize, depth: usize) -> Option<u32> {
        if depth > MAX_DEPTH {
            return None;
        }
        let first_child = self.pending.len();
        let end = loop {
            let at = self.peek()?;
            let item = self.item(at, depth)?;
            self.pending.push(item);
            match self.peek() {
                Some(next) if next.column == first.column && self.is_dash(next.position) => {}
                Some(next) if next.column > first.column => return None,
                _ => break self.end_of(item),
            }
        };
        // If dashes are not indented, the general parser begins the list at its first item.
        let start = match first.column == column {
            true => self.tree.nodes[self.pending[first_child] as usize].start as usize,
            false => first.position,
        };
        Some(self.close_sequence(Style::Block, first_child, start, end))
    }

    /// Reads the value after a dash: a map that begins there, or a value on one line.
    fn item(&mut self, dash: NextLine, depth: usize) -> Option<u32> {
        let position = self.skip_spaces(dash.position + 1);
        if self.byte(position) == b'\n' || self.is_dash(position) {
            return None;
        }
        if self.key(position).is_some() {
            // The key was read only to look ahead; the map reads it again.
            self.tree.nodes.pop();
            let column = dash.column + position - dash.position;
            self.ahead = None;
            return self.mapping(NextLine { column, position }, depth + 1);
        }
        let (id, end) = self.inline(position, ScalarContext::Block, depth)?;
        self.end_line(end)?;
        self.is_last_of(dash.column).then_some(id)
    }

    /// Whether the next line does not continue a value whose parent is at `column`.
    fn is_last_of(&mut self, column: usize) -> bool {
        self.peek().is_none_or(|next| next.column <= column)
    }

    /// Reads the value of a key whose map is at `column`; `after` is the end of the key's colon.
    fn value(&mut self, after: usize, column: usize, depth: usize) -> Option<u32> {
        let position = self.skip_spaces(after);
        let is_empty = self.byte(position) == b'\n' || (self.byte(position) == b'#' && position > after);
        if self.byte(position) == b'|' {
            return self.literal(position, column);
        }
        if !is_empty {
            let (id, end) = self.inline(position, ScalarContext::Block, depth)?;
            self.end_line(end)?;
            return self.is_last_of(column).then_some(id);
        }
        self.end_line(after)?;
        match self.peek() {
            Some(next) if self.is_dash(next.position) && next.column >= column => {
                self.sequence(next, column, depth + 1)
            }
            Some(next) if next.column > column => self.mapping(next, depth + 1),
            // The general parser places an empty value at the colon.
            _ => Some(self.add(NodeData::Scalar(Cow::Borrowed(""), Style::Plain), after - 1, after - 1)),
        }
    }

    /// Reads `|` or `|-` and the text below it, which is right of `column`.
    fn literal(&mut self, start: usize, column: usize) -> Option<u32> {
        let is_stripped = self.byte(start + 1) == b'-';
        let header_end = if is_stripped { start + 2 } else { start + 1 };
        if self.byte(header_end) != b'\n' {
            return None;
        }
        let mut line = header_end + 1;
        let indent = self.skip_spaces(line) - line;
        let text_start = line + indent;
        let mut value = String::new();
        let mut blank_lines = 0;
        while line < self.bytes.len() {
            let content = self.skip_spaces(line);
            let line_end = self.line_end(line);
            // Lines of only spaces, and a last line without line end, are left to the general parser.
            match (content == line_end, content - line) {
                (true, 0) => blank_lines += 1,
                (true, _) => return None,
                (false, found) if found >= indent && indent > column && line_end < self.bytes.len() => {
                    (0..blank_lines).for_each(|_| value.push('\n'));
                    blank_lines = 0;
                    value.push_str(&self.text[line + indent..=line_end]);
                }
                (false, found) if found <= column => break,
                (false, _) => return None,
            }
            line = line_end + 1;
        }
        if value.is_empty() || value.starts_with('\n') {
            return None;
        }
        if is_stripped {
            value.pop();
        }
        (self.line, self.ahead) = (line.min(self.bytes.len()), None);
        // The general parser's span is from below the header to the start of the next node.
        let end = self.skip_spaces(self.line);
        Some(self.add(NodeData::Scalar(Cow::Owned(value), Style::Text), text_start, end))
    }

    /// Reads a key and returns the end of its colon.
    fn key(&mut self, position: usize) -> Option<(u32, usize)> {
        let (content, end) = match self.byte(position) {
            quote @ (b'"' | b'\'') => self.quoted(position, quote)?,
            first if first.is_ascii_alphanumeric() || matches!(first, b'_' | b'/' | b'.') => {
                let end = self.plain_key_end(position)?;
                (NodeData::Scalar(Cow::Borrowed(&self.text[position..end]), Style::Plain), end)
            }
            _ => return None,
        };
        let is_key = self.byte(end) == b':' && matches!(self.byte(end + 1), b' ' | b'\n');
        if !is_key || end - position > MAX_KEY {
            return None;
        }
        Some((self.add(content, position, end), end + 1))
    }

    fn plain_key_end(&self, position: usize) -> Option<usize> {
        let mut end = position;
        loop {
            match self.byte(end) {
                b':' if matches!(self.byte(end + 1), b' ' | b'\n') => return Some(end),
                byte if byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'/' | b'.' | b'-' | b':' | b'@') =>
                {
                    end += 1;
                }
                _ => return None,
            }
        }
    }

    /// Reads a value on one line, and returns its end.
    fn inline(&mut self, position: usize, context: ScalarContext, depth: usize) -> Option<(u32, usize)> {
        match self.byte(position) {
            b'{' => self.flow_mapping(position, depth + 1),
            b'[' => self.flow_sequence(position, depth + 1),
            quote @ (b'"' | b'\'') => {
                let (content, end) = self.quoted(position, quote)?;
                Some((self.add(content, position, end), end))
            }
            _ => {
                let end = self.plain_end(position, context)?;
                let content = NodeData::Scalar(Cow::Borrowed(&self.text[position..end]), Style::Plain);
                Some((self.add(content, position, end), end))
            }
        }
    }

    /// A quoted text without escapes.
    fn quoted(&self, position: usize, quote: u8) -> Option<(NodeData<'s>, usize)> {
        let start = position + 1;
        let length =
            self.bytes[start..].iter().position(|byte| *byte == quote || matches!(byte, b'\n' | b'\\'))?;
        let end = start + length;
        let is_doubled = quote == b'\'' && self.byte(end + 1) == b'\'';
        // A backslash is plain text between single quotes, but then it is not the quote that was found.
        if self.byte(end) != quote || is_doubled {
            return None;
        }
        Some((NodeData::Scalar(Cow::Borrowed(&self.text[start..end]), Style::Text), end + 1))
    }

    /// The end of a plain scalar, if it is unambiguous.
    fn plain_end(&self, position: usize, context: ScalarContext) -> Option<usize> {
        let first = self.byte(position);
        let begins_well = first.is_ascii_alphanumeric()
            || matches!(first, b'_' | b'/' | b'.' | b'+' | b'~' | b'(' | 0x80..);
        let is_negative = first == b'-' && self.byte(position + 1).is_ascii_digit();
        if !begins_well && !is_negative {
            return None;
        }
        let mut end = position;
        let mut last = position;
        loop {
            match self.byte(end) {
                b'\n' => break,
                b'#' if self.byte(end - 1) == b' ' => break,
                b',' | b']' | b'}' if context == ScalarContext::Flow => break,
                b'[' | b'{' if context == ScalarContext::Flow => return None,
                b':' if matches!(self.byte(end + 1), b' ' | b'\n' | b',' | b']' | b'}' | b'[' | b'{') => {
                    return None;
                }
                b' ' => {}
                _ => last = end,
            }
            end += 1;
        }
        Some(last + 1)
    }

    fn flow_sequence(&mut self, start: usize, depth: usize) -> Option<(u32, usize)> {
        let first_child = self.pending.len();
        let end = self.flow_items(start, b']', depth, |quick, position| {
            let (item, end) = quick.inline(position, ScalarContext::Flow, depth)?;
            quick.pending.push(item);
            Some(end)
        })?;
        Some((self.close_sequence(Style::Flow, first_child, start, end), end))
    }

    fn flow_mapping(&mut self, start: usize, depth: usize) -> Option<(u32, usize)> {
        let first_child = self.pending.len();
        let end = self.flow_items(start, b'}', depth, |quick, position| {
            let (key, after) = quick.key(position)?;
            quick.pending.push(key);
            let value = quick.skip_spaces(after);
            let (value, end) = quick.inline(value, ScalarContext::Flow, depth)?;
            quick.pending.push(value);
            Some(end)
        })?;
        Some((self.close_mapping(Style::Flow, first_child, start, end)?, end))
    }

    /// Reads items between brackets, all on one line, and returns the end of the closing bracket.
    fn flow_items(
        &mut self,
        start: usize,
        closing: u8,
        depth: usize,
        mut item: impl FnMut(&mut QuickReader<'s>, usize) -> Option<usize>,
    ) -> Option<usize> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut position = self.skip_spaces(start + 1);
        if self.byte(position) == closing {
            return Some(position + 1);
        }
        loop {
            let end = item(self, position)?;
            position = self.skip_spaces(end);
            match self.byte(position) {
                byte if byte == closing => return Some(position + 1),
                b',' => position = self.skip_spaces(position + 1),
                _ => return None,
            }
        }
    }
}

/// The context of a scalar, which decides where it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScalarContext {
    Block,
    Flow,
}

#[cfg(test)]
#[path = "quick_tests.rs"]
mod tests;
