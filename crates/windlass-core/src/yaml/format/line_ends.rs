//! Normalises line ends, and maps positions back to the given text.

use std::borrow::Cow;

pub(in crate::yaml) const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text without byte order mark and with LF only, so that later steps can work by lines.
pub(in crate::yaml) fn with_plain_line_ends(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(text),
    }
}

/// The position in the given text of a position in the text with plain line ends.
pub(super) fn original_position(text: &str, at: usize) -> usize {
    let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    let bytes = &text.as_bytes()[mark..];
    let is_dropped = |position: usize| bytes[position] == b'\r' && bytes.get(position + 1) == Some(&b'\n');
    let kept = (0..bytes.len()).filter(|position| !is_dropped(*position)).nth(at);
    mark + kept.unwrap_or(bytes.len())
}
