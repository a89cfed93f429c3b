//! Formats a text in one layout, for `windlass fmt`.
//!
//! `read` turns parser events into nodes with positions, `print` and its siblings write them with the layout's spacing,
//! and `verify` reads the result again. Words are copied from the source and never rebuilt from their meaning, and a
//! result with another meaning or without a comment is rejected: formatting must not change a fleet. Writing recurses,
//! no deeper than reading allows.

mod block;
mod flow;
mod format_refused;
mod gap;
mod line_ends;
mod options;
mod print;
mod read;
mod scalar;
mod verify;
pub(super) mod written;

#[cfg(test)]
mod tests;

pub(super) use self::line_ends::{BYTE_ORDER_MARK, with_plain_line_ends};

use self::format_refused::FormatRefused;
use self::options::options;
use self::read::Reader;
use self::verify::DocumentMeaning;
use self::written::WrittenDocument;
use super::findings::check_text;
use super::{MAX_FILE_BYTES, build};
use crate::diagnostic::Finding;

/// Formats a text, keeping every comment, the order and the style of every value.
///
/// If [`parse`](super::parse) cannot read the text, its findings are returned. YAML that this layout does not support
/// (directives, `? ` keys, keys that are lists or maps) gives one finding at its place, as does a result larger than a
/// file may be.
pub fn format(text: &str) -> Result<String, Vec<Finding>> {
    check_text(text).map_err(|finding| vec![finding])?;
    let source = with_plain_line_ends(text);
    let is_rewritten = *source != *text;
    if is_rewritten && let (None, findings) = build::parse(text) {
        return Err(findings);
    }
    let mut reader = Reader::new(&source);
    let mut meaning = DocumentMeaning::default();
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

/// The nodes of a text with plain line ends, unless it contains YAML that the layout does not support.
pub(super) fn read_written(source: &str) -> Option<WrittenDocument<'_>> {
    let mut reader = Reader::new(source);
    let (tree, _) = build::parse_watched(source, options(), |event, span| reader.take(event, span));
    tree.and_then(|_| reader.finish().ok())
}

fn lay_out(source: &str, document: &WrittenDocument<'_>) -> Result<String, FormatRefused> {
    let output = print::print(source, document);
    match output.len() > MAX_FILE_BYTES {
        true => Err(FormatRefused { at: 0 }),
        false => Ok(output),
    }
}
