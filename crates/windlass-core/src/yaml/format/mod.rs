//! Text → the same text in one layout, for `windlass fmt`.
//!
//! `read` turns parser events into nodes with places, `print` and its siblings write them back with the layout's
//! spacing, and `verify` reads the result again. Words are copied from the source, never rebuilt from their meaning,
//! and a result that does not mean the same or lost a comment is refused: formatting must never be able to change a
//! fleet. Writing recurses, no deeper than reading allows values to be nested.

mod block;
mod flow;
mod gap;
mod print;
mod read;
mod scalar;
mod verify;
pub(super) mod written;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use granit_parser::Options;

use self::read::Reader;
use self::verify::Meaning;
use self::written::Document;
use super::complain::check_text;
use super::{MAX_FILE_BYTES, build};
use crate::diagnostic::{Code, Finding};

pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Lays a text out anew, keeping every comment, the order and the style of every value.
///
/// What [`parse`](super::parse) cannot read gives its findings. YAML this layout has no form for (directives, `? `
/// keys, keys that are lists or maps) gives one finding at its place; so does a result larger than a file may be.
pub fn format(text: &str) -> Result<String, Vec<Finding>> {
    check_text(text).map_err(|finding| vec![finding])?;
    let source = with_plain_line_ends(text);
    let is_rewritten = *source != *text;
    if is_rewritten && let (None, findings) = build::parse(text) {
        return Err(findings);
    }
    let mut reader = Reader::new(&source);
    let mut meaning = Meaning::default();
    let (tree, findings) = build::parse_watched(&source, options(), |event, span| {
        reader.take(event, span);
        meaning.take(event, span, &source);
    });
    if tree.is_none() {
        return Err(findings);
    }
    drop(tree);
    let output = reader.finish().and_then(|document| {
        let output = lay_out(&source, &document)?;
        meaning.check(&output)?;
        if is_rewritten {
            meaning.check(text)?;
        }
        Ok(output)
    });
    output.map_err(|refused| vec![refused.into_finding(text)])
}

/// A text with plain line ends as it was written, unless it has something the layout has no form for.
pub(super) fn read_written(source: &str) -> Option<Document<'_>> {
    let mut reader = Reader::new(source);
    let (tree, _) = build::parse_watched(source, options(), |event, span| reader.take(event, span));
    tree.and_then(|_| reader.finish().ok())
}

fn lay_out(source: &str, document: &Document<'_>) -> Result<String, Refused> {
    let output = print::print(source, document);
    match output.len() > MAX_FILE_BYTES {
        true => Err(Refused { at: 0 }),
        false => Ok(output),
    }
}

/// A place, in the text with plain line ends, that the layout has no form for.
#[derive(Debug)]
struct Refused {
    at: usize,
}

impl Refused {
    fn into_finding(self, text: &str) -> Finding {
        let at = original_position(text, self.at);
        let message = "this file uses YAML that cannot be formatted without changing it";
        Finding::new(Code::YamlSyntax, at..text.len().min(at + 1), message)
            .help("write this place as plain keys, lists and values, or keep the file as it is")
    }
}

/// No byte order mark and only LF, so that every later step can think in lines.
pub(super) fn with_plain_line_ends(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(text),
    }
}

/// Where a place of the text with plain line ends is in the text as given.
fn original_position(text: &str, at: usize) -> usize {
    let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    let bytes = &text.as_bytes()[mark..];
    let is_dropped = |position: usize| bytes[position] == b'\r' && bytes.get(position + 1) == Some(&b'\n');
    let kept = (0..bytes.len()).filter(|position| !is_dropped(*position)).nth(at);
    mark + kept.unwrap_or(bytes.len())
}

/// The settings of the parser for both reading and checking: those of `parse`, with the events it has no use for.
fn options() -> Options {
    let mut options = build::options();
    options.set_emit_comments(true);
    options.emit_anchor_events = true;
    // A long licence header is no reason to refuse a file; its size is bounded by the file's.
    options.max_buffered_comment_events = MAX_FILE_BYTES;
    options
}
