//! The differences in the files that a resource names, as rows of a table.

use windlass_core::content::ContentDifference;
use windlass_core::display::{DiffLineKind, content_lines};

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentRow {
    /// The CSS class of the row: `gone`, `come`, `fold` or empty.
    pub class: &'static str,
    /// The sign before the text.
    pub sign: &'static str,
    /// The text.
    pub text: String,
}

/// The rows of some differences.
pub(crate) fn rows<'d>(differences: impl IntoIterator<Item = &'d ContentDifference>) -> Vec<ContentRow> {
    differences.into_iter().flat_map(content_lines).map(row).collect()
}

/// The rows of one difference, as `diff -u` prints it.
pub(crate) fn diff_rows(diff: &str) -> Vec<ContentRow> {
    let kind = |line: &str| match line.as_bytes().first() {
        Some(b'+') => DiffLineKind::Added,
        Some(b'-') => DiffLineKind::Removed,
        Some(b' ') => DiffLineKind::Same,
        _ => DiffLineKind::Place,
    };
    diff.lines().map(|line| row((kind(line), line.to_owned()))).collect()
}

fn row((mark, text): (DiffLineKind, String)) -> ContentRow {
    let (class, sign) = match mark {
        DiffLineKind::Head | DiffLineKind::Note | DiffLineKind::Place => {
            return ContentRow { class: "fold", sign: "", text };
        }
        DiffLineKind::Same => ("", ""),
        DiffLineKind::Added => ("come", "+"),
        DiffLineKind::Removed => ("gone", "−"),
    };
    // The sign has a column of its own.
    ContentRow { class, sign, text: text.chars().skip(1).collect() }
}
