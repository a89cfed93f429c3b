//! The trait for one state of a repository's files.

use windlass_core::manifest::Selection;

use crate::content::PathContent;
use crate::entry::{EntryKind, ReadError};

/// One state of a repository's files, below a prefix. Paths are relative to the prefix, with `/` between components.
pub trait FileTree {
    /// The kind of entry at a path, without following any link. `None` if there is none.
    fn entry(&self, path: &str) -> Result<Option<EntryKind>, ReadError>;

    /// The content at a path, as git object id. A tree that already has the ids reads no content.
    fn content(&self, path: &str) -> Result<PathContent, ReadError>;

    /// The selected paths, without directories, sorted. If a fleet may not have that many, the list is cut.
    fn list(&self, selection: &Selection) -> Result<Vec<(String, EntryKind)>, ReadError>;

    /// The content of a regular file.
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError>;
}
