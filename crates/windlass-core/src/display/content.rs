//! The differences in the files that a resource names, as lines.

use super::pluralize;
use crate::content::{ContentDifference, FileChange, FileDifference};

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffLineKind {
    /// The name of a file and its change.
    Head,
    /// A note about the difference.
    Note,
    /// The position of the next lines in the file.
    Place,
    /// An unchanged line.
    Same,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
}

/// A difference as lines. They are untrusted text of a repository: the caller must sanitise them.
pub fn content_lines(difference: &ContentDifference) -> Vec<(DiffLineKind, String)> {
    let mut lines = Vec::new();
    if let Some(note) = &difference.note {
        lines.push((DiffLineKind::Note, format!("{}: {note}", difference.change.path)));
    }
    for file in &difference.files {
        lines.push((DiffLineKind::Head, head(file)));
        lines.extend(file.lines.iter().flat_map(|text| text.lines()).map(line_kind));
        lines.extend(file.not_shown.iter().map(|why| (DiffLineKind::Note, format!("not shown: {why}"))));
    }
    if difference.more_files > 0 {
        lines.push((DiffLineKind::Note, format!("and {}", pluralize(difference.more_files, "more file"))));
    }
    lines
}

fn head(file: &FileDifference) -> String {
    let word = match file.change {
        FileChange::Added => "new file",
        FileChange::Changed => "changed file",
        FileChange::Removed => "removed file",
    };
    let size = match (file.before_bytes, file.after_bytes) {
        (Some(before), Some(after)) => format!(" ({before} → {after} bytes)"),
        (Some(bytes), None) | (None, Some(bytes)) => format!(" ({bytes} bytes)"),
        (None, None) => String::new(),
    };
    format!("{word} {}{size}", file.path)
}

fn line_kind(line: &str) -> (DiffLineKind, String) {
    let mark = match line.as_bytes().first() {
        Some(b'+') => DiffLineKind::Added,
        Some(b'-') => DiffLineKind::Removed,
        Some(b'@') => DiffLineKind::Place,
        Some(b'\\') => DiffLineKind::Note,
        _ => DiffLineKind::Same,
    };
    (mark, line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{ContentChange, ContentId, FileSide};

    #[test]
    fn every_file_is_named_with_its_lines_or_why_there_are_none() {
        let change = ContentChange { path: "apps".to_owned(), before: None, after: ContentId::tree([1; 20]) };
        let bytes = |text: &str| FileSide::Bytes(text.as_bytes().to_vec());
        let mut difference = ContentDifference::new(change).with_note("a note");
        difference.add("apps/a".to_owned(), &bytes("one\n"), &bytes("two\n"));
        difference.add("apps/b".to_owned(), &FileSide::Nothing, &FileSide::Large(1_000_000));
        difference.more_files = 2;
        let told: Vec<String> = content_lines(&difference).into_iter().map(|(_, line)| line).collect();
        let expected = [
            "apps: a note",
            "changed file apps/a (4 → 4 bytes)",
            "@@ -1 +1 @@",
            "-one",
            "+two",
            "new file apps/b (1000000 bytes)",
            "not shown: it is larger than 128 KiB",
            "and 2 more files",
        ];
        assert_eq!(told, expected);
    }
}
