//! The difference between two contents of a path, file by file, with limits for storing and showing it.

use serde::{Deserialize, Serialize};

use super::side::FileSide;
use super::{ContentChange, ContentId, text};
use crate::states::states;

/// The most files listed in one difference; the rest is counted.
pub const MAX_FILES: usize = 100;

/// A larger file is listed without its lines.
pub const MAX_FILE_BYTES: u64 = 128 * 1024;

/// The total size of the lines in one difference.
const MAX_TEXT: usize = 32 * 1024;

/// The total size of the files compared for one difference; the rest is only listed.
const MAX_COMPARED: u64 = 512 * 1024;

states! {
    /// The change of a file.
    FileChange {
        /// It is new.
        Added "added",
        /// Its content changes.
        Changed "changed",
        /// It is deleted.
        Removed "removed",
    }
}

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDifference {
    /// Its path, from the directory of fleet.yaml.
    pub path: String,
    /// The kind of change.
    pub change: FileChange,
    /// Its size before, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_bytes: Option<u64>,
    /// Its size after, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_bytes: Option<u64>,
    /// The changed lines with context, as `diff -u` prints them, secrets masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<String>,
    /// Why there are no lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_shown: Option<String>,
}

/// The difference in the content of one path that a resource names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentDifference {
    /// The path and its contents before and after.
    #[serde(flatten)]
    pub change: ContentChange,
    /// The files that differ, in order, up to the limit.
    pub files: Vec<FileDifference>,
    /// The number of further files.
    #[serde(default)]
    pub more_files: usize,
    /// A note for the reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl ContentDifference {
    /// A difference without details.
    pub fn new(change: ContentChange) -> ContentDifference {
        ContentDifference { change, files: Vec::new(), more_files: 0, note: None }
    }

    /// Adds a note.
    pub fn with_note(mut self, note: impl Into<String>) -> ContentDifference {
        self.note = Some(note.into());
        self
    }

    /// Whether lines of another file fit. If not, it need not be read.
    pub fn has_room(&self) -> bool {
        self.files.len() < MAX_FILES && self.compared_bytes() < MAX_COMPARED
    }

    /// The number of bytes that were compared.
    pub fn compared_bytes(&self) -> u64 {
        let read = |size: Option<u64>| size.filter(|size| *size <= MAX_FILE_BYTES).unwrap_or(0);
        self.files.iter().map(|file| read(file.before_bytes) + read(file.after_bytes)).sum()
    }

    /// The size of its text.
    pub fn shown_bytes(&self) -> usize {
        let shown = |file: &FileDifference| file.path.len() + file.lines.as_ref().map_or(0, String::len);
        self.files.iter().map(shown).sum()
    }

    /// Adds a file that differs, or counts it.
    pub fn add(&mut self, path: String, before: &FileSide, after: &FileSide) {
        if self.files.len() >= MAX_FILES {
            self.more_files += 1;
            return;
        }
        let told: usize = self.files.iter().filter_map(|file| file.lines.as_ref()).map(String::len).sum();
        let (lines, not_shown) = match text::lines(before, after, MAX_TEXT.saturating_sub(told)) {
            Ok(lines) => (Some(lines), None),
            Err(why) => (None, Some(why.to_owned())),
        };
        let change = match (before, after) {
            (FileSide::Nothing, _) => FileChange::Added,
            (_, FileSide::Nothing) => FileChange::Removed,
            _ => FileChange::Changed,
        };
        let (before_bytes, after_bytes) = (before.size(), after.size());
        self.files.push(FileDifference { path, change, before_bytes, after_bytes, lines, not_shown });
    }

    /// Whether this difference belongs to that change.
    pub fn is_of(&self, change: &ContentChange) -> bool {
        self.change == *change
    }

    /// The content before, if it is known.
    pub fn before(&self) -> Option<ContentId> {
        self.change.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> ContentChange {
        ContentChange { path: "a".to_owned(), before: None, after: ContentId::blob([1; 20]) }
    }

    fn bytes(text: &str) -> FileSide {
        FileSide::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn files_are_named_up_to_the_limit_and_then_counted() {
        let mut difference = ContentDifference::new(change());
        for index in 0..MAX_FILES + 7 {
            difference.add(format!("f{index}"), &FileSide::Nothing, &bytes("x\n"));
        }
        assert_eq!((difference.files.len(), difference.more_files), (MAX_FILES, 7));
        assert_eq!(difference.files[0].change, FileChange::Added);
    }

    #[test]
    fn the_text_of_all_files_together_is_bounded_and_what_is_not_shown_says_why() {
        let mut difference = ContentDifference::new(change());
        for index in 0..10 {
            difference.add(format!("f{index}"), &FileSide::Nothing, &bytes(&"a: 1\n".repeat(1_500)));
        }
        let shown: usize =
            difference.files.iter().filter_map(|file| file.lines.as_ref()).map(String::len).sum();
        assert!(shown <= MAX_TEXT, "{shown}");
        assert!(difference.files.iter().all(|file| file.lines.is_some() != file.not_shown.is_some()));
        assert_eq!(difference.files[9].not_shown.as_deref(), Some("the difference is too long to show"));
    }

    #[test]
    fn a_difference_reads_back_from_its_document() {
        let mut difference = ContentDifference::new(change()).with_note("a note");
        difference.add("a".to_owned(), &bytes("1\n"), &bytes("2\n"));
        difference.add("b".to_owned(), &FileSide::NotAFile, &FileSide::Large(1 << 40));
        let text = serde_json::to_string(&difference).unwrap();
        assert_eq!(serde_json::from_str::<ContentDifference>(&text).unwrap(), difference);
    }
}
