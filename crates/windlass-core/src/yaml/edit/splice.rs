//! Replaces pieces of a text whose line ends may be CRLF.

use std::ops::Range;

use super::edit_refused::EditRefused;
use crate::yaml::format::BYTE_ORDER_MARK;

/// Positions refer to the text with plain line ends.
#[derive(Default)]
pub(super) struct Splices {
    pieces: Vec<(Range<usize>, String)>,
}

impl Splices {
    pub(super) fn replace(&mut self, range: Range<usize>, text: String) {
        self.pieces.push((range, text));
    }

    pub(super) fn remove(&mut self, range: Range<usize>) {
        self.replace(range, String::new());
    }

    /// The given text with every piece replaced. Pieces at the same position keep their order.
    pub(super) fn apply(mut self, text: &str) -> Result<String, EditRefused> {
        self.pieces.sort_by_key(|(range, _)| (range.start, range.end));
        let places = OriginalOffsets::of(text);
        let mut output = String::with_capacity(text.len());
        output.push_str(&text[..places.original(0)]);
        let end = places.plain_len(text);
        let mut done = 0;
        for (range, piece) in &self.pieces {
            if range.start < done && !piece.is_empty() {
                return Err(EditRefused("two changes affect the same place"));
            }
            if range.start > done {
                output.push_str(&text[places.original(done)..places.original(range.start)]);
            }
            // If the last line has no line break and was removed, the break before it is removed too.
            let is_broken = range.start == end && output.ends_with('\n');
            let piece = if is_broken { piece.trim_start_matches('\n') } else { piece };
            match places.line_end {
                "\n" => output.push_str(piece),
                line_end => output.push_str(&piece.replace('\n', line_end)),
            }
            done = done.max(range.end);
        }
        output.push_str(&text[places.original(done)..]);
        Ok(output)
    }
}

/// Maps positions of the text with plain line ends to the given text.
struct OriginalOffsets {
    /// Empty if they are the same.
    offsets: Vec<usize>,
    line_end: &'static str,
}

impl OriginalOffsets {
    fn of(text: &str) -> OriginalOffsets {
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        if !text.contains('\r') && !text.starts_with(BYTE_ORDER_MARK) {
            return OriginalOffsets { offsets: Vec::new(), line_end };
        }
        let bytes = text.as_bytes();
        let start = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        // A line break of two bytes begins with its first: text inserted before the break stays before both.
        let is_second = |at: usize| at > start && bytes[at] == b'\n' && bytes[at - 1] == b'\r';
        let offsets = (start..bytes.len()).filter(|at| !is_second(*at)).chain([bytes.len()]).collect();
        OriginalOffsets { offsets, line_end }
    }

    fn plain_len(&self, text: &str) -> usize {
        self.offsets.len().checked_sub(1).unwrap_or(text.len())
    }

    fn original(&self, at: usize) -> usize {
        self.offsets.get(at).copied().unwrap_or(at)
    }
}
