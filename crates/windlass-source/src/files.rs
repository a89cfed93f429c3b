//! Files that a client sent, as a tree.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use windlass_core::manifest::{MAX_FILES, Selection};

use windlass_core::content::ContentId;

use crate::content::PathContent;
use crate::entry::{EntryKind, ReadError};
use crate::git::IdHasher;
use crate::tree::FileTree;

/// Enough of a path to recognise it in a message.
const SHOWN_CHARS: usize = 200;

/// Why the files of a request do not form a tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is not a path inside the fleet: {reason}")]
pub struct FilePathError {
    path: String,
    reason: &'static str,
}

/// Files in memory, and paths of which only their existence is known. There are no symbolic links. Directories are not
/// stored: a directory exists if a path begins with it, so that the cost of a path is its length.
#[derive(Clone, Debug, Default)]
pub struct SentFiles {
    files: BTreeMap<String, Vec<u8>>,
    /// Paths that exist and whose content was not sent.
    other_paths: BTreeSet<String>,
    /// Git object ids of paths, as the client reported them.
    contents: BTreeMap<String, ContentId>,
}

impl SentFiles {
    /// The tree of these files; `existing_paths` are further paths that exist.
    pub fn new(
        files: impl IntoIterator<Item = (String, Vec<u8>)>,
        existing_paths: impl IntoIterator<Item = String>,
    ) -> Result<SentFiles, FilePathError> {
        let mut tree = SentFiles::default();
        for (path, content) in files {
            check(&path)?;
            tree.files.insert(path, content);
        }
        for path in existing_paths {
            check(&path)?;
            tree.other_paths.insert(path);
        }
        Ok(tree)
    }

    /// Adds git object ids of paths: a client that has the files can compute them without sending every file.
    pub fn with_contents(
        mut self,
        contents: impl IntoIterator<Item = (String, ContentId)>,
    ) -> Result<SentFiles, FilePathError> {
        for (path, content) in contents {
            check(&path)?;
            self.other_paths.insert(path.clone());
            self.contents.insert(path, content);
        }
        Ok(self)
    }

    /// Whether this directory contains something.
    fn is_directory(&self, path: &str) -> bool {
        let below = format!("{path}/");
        let first_file =
            self.files.range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded)).next();
        let first_path =
            self.other_paths.range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded)).next();
        first_file.is_some_and(|(path, _)| path.starts_with(&below))
            || first_path.is_some_and(|path| path.starts_with(&below))
    }
}

fn check(path: &str) -> Result<(), FilePathError> {
    match problem(path) {
        Some(reason) => Err(FilePathError { path: path.chars().take(SHOWN_CHARS).collect(), reason }),
        None => Ok(()),
    }
}

fn problem(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        Some("it is empty")
    } else if path.len() > 1024 {
        Some("it is longer than 1024 bytes")
    } else if path.chars().any(char::is_control) || path.contains('\\') {
        Some("it contains a control character or a backslash")
    } else if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        Some("a part of it is empty, `.` or `..`")
    } else {
        None
    }
}

impl FileTree for SentFiles {
    fn entry(&self, path: &str) -> Result<Option<EntryKind>, ReadError> {
        let path = path.trim_end_matches('/');
        Ok(match self.files.get(path) {
            Some(content) => Some(EntryKind::File(content.len() as u64)),
            None => {
                let is_there = path.is_empty() || self.other_paths.contains(path) || self.is_directory(path);
                is_there.then_some(EntryKind::Directory)
            }
        })
    }

    fn content(&self, path: &str) -> Result<PathContent, ReadError> {
        let plain = path.strip_prefix("./").unwrap_or(path).trim_end_matches('/');
        if let Some(content) = self.contents.get(plain) {
            return Ok(PathContent::Known(*content));
        }
        match self.files.get(plain) {
            Some(bytes) => {
                let id = IdHasher::of("blob", bytes);
                id.map(|id| PathContent::Known(ContentId::blob(id)))
                    .map_err(|source| ReadError { path: path.to_owned(), source })
            }
            None if self.other_paths.contains(plain) || self.is_directory(plain) => Ok(PathContent::Unknown),
            None => Ok(PathContent::Nothing),
        }
    }

    fn list(&self, selection: &Selection) -> Result<Vec<(String, EntryKind)>, ReadError> {
        let selected = self.files.iter().filter(|(path, _)| selection.matches(path));
        let listed = selected.map(|(path, content)| (path.clone(), EntryKind::File(content.len() as u64)));
        Ok(listed.take(MAX_FILES + 1).collect())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.files
            .get(path)
            .cloned()
            .ok_or_else(|| ReadError { path: path.to_owned(), source: "the file does not exist".into() })
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::manifest::IncludePattern;
    use windlass_core::shape::TextValue as _;

    use super::*;

    fn files(paths: &[&str]) -> Result<SentFiles, FilePathError> {
        SentFiles::new(paths.iter().map(|path| ((*path).to_owned(), b"x".to_vec())), [])
    }

    #[test]
    fn nothing_leads_out() {
        for path in ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/.", "a\\b", "a\nb", "a/"] {
            assert!(files(&[path]).is_err(), "{path:?}");
        }
    }

    #[test]
    fn what_was_sent_is_listed_and_what_is_there_is_there() {
        let tree = SentFiles::new(
            [("fleet.yaml".to_owned(), b"a".to_vec()), ("fleet.d/b.yaml".to_owned(), b"bc".to_vec())],
            ["apps/web".to_owned()],
        );
        let tree = tree.expect("the paths are sound");
        assert_eq!(tree.entry("fleet.d").ok().flatten(), Some(EntryKind::Directory));
        assert_eq!(tree.entry("apps/web").ok().flatten(), Some(EntryKind::Directory));
        assert_eq!(tree.entry("apps/other").ok().flatten(), None);
        assert_eq!(tree.entry("apps").ok().flatten(), Some(EntryKind::Directory));
        assert_eq!(tree.entry("app").ok().flatten(), None);
        let pattern = IncludePattern::read("**/*.yaml").expect("a pattern");
        let listed = tree.list(&Selection::of(&[pattern])).expect("a list");
        assert_eq!(listed, [("fleet.d/b.yaml".to_owned(), EntryKind::File(2))]);
        assert_eq!(tree.read("fleet.d/b.yaml").ok(), Some(b"bc".to_vec()));
        assert!(tree.read("apps/web").is_err());
    }
}
