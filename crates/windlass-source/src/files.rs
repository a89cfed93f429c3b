//! Files that someone sent, as a tree.

use std::collections::{BTreeMap, BTreeSet};

use crate::{EntryKind, ReadError, Tree};

/// Why files that were sent are no tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is not a path inside the fleet: {reason}")]
pub struct FilePathError {
    path: String,
    reason: &'static str,
}

/// Files in memory, and paths of which nothing is known but that they are there. There are no links among them.
#[derive(Clone, Debug, Default)]
pub struct Files {
    files: BTreeMap<String, Vec<u8>>,
    /// Directories, and paths that are there without their content.
    there: BTreeSet<String>,
}

impl Files {
    /// The tree of these files; `there` are other paths that exist beside them.
    pub fn new(
        files: impl IntoIterator<Item = (String, Vec<u8>)>,
        there: impl IntoIterator<Item = String>,
    ) -> Result<Files, FilePathError> {
        let mut tree = Files::default();
        for (path, content) in files {
            tree.note(&path)?;
            tree.files.insert(path, content);
        }
        for path in there {
            tree.note(&path)?;
            tree.there.insert(path);
        }
        Ok(tree)
    }

    /// Notes the directories around a path.
    fn note(&mut self, path: &str) -> Result<(), FilePathError> {
        if let Some(reason) = problem(path) {
            return Err(FilePathError { path: path.to_owned(), reason });
        }
        for (end, _) in path.match_indices('/') {
            self.there.insert(path[..end].to_owned());
        }
        Ok(())
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

impl Tree for Files {
    fn entry(&self, path: &str) -> Result<Option<EntryKind>, ReadError> {
        let path = path.trim_end_matches('/');
        Ok(match self.files.get(path) {
            Some(content) => Some(EntryKind::File(content.len() as u64)),
            None => (path.is_empty() || self.there.contains(path)).then_some(EntryKind::Directory),
        })
    }

    fn list(&self, directory: &str) -> Result<Vec<(String, EntryKind)>, ReadError> {
        let below = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let inside = self.files.iter().filter(|(path, _)| path.starts_with(&below));
        Ok(inside.map(|(path, content)| (path.clone(), EntryKind::File(content.len() as u64))).collect())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.files
            .get(path)
            .cloned()
            .ok_or_else(|| ReadError { path: path.to_owned(), source: "there is no such file".into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> Result<Files, FilePathError> {
        Files::new(paths.iter().map(|path| ((*path).to_owned(), b"x".to_vec())), [])
    }

    #[test]
    fn nothing_leads_out() {
        for path in ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/.", "a\\b", "a\nb", "a/"] {
            assert!(files(&[path]).is_err(), "{path:?}");
        }
    }

    #[test]
    fn what_was_sent_is_listed_and_what_is_there_is_there() {
        let tree = Files::new(
            [("fleet.yaml".to_owned(), b"a".to_vec()), ("fleet.d/b.yaml".to_owned(), b"bc".to_vec())],
            ["apps/web".to_owned()],
        );
        let tree = tree.expect("the paths are sound");
        assert_eq!(tree.entry("fleet.d").ok().flatten(), Some(EntryKind::Directory));
        assert_eq!(tree.entry("apps/web").ok().flatten(), Some(EntryKind::Directory));
        assert_eq!(tree.entry("apps/other").ok().flatten(), None);
        let listed = tree.list("fleet.d").expect("a list");
        assert_eq!(listed, [("fleet.d/b.yaml".to_owned(), EntryKind::File(2))]);
        assert_eq!(tree.list("").map(|all| all.len()).ok(), Some(2));
        assert_eq!(tree.read("fleet.d/b.yaml").ok(), Some(b"bc".to_vec()));
        assert!(tree.read("apps/web").is_err());
    }
}
