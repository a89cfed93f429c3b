//! One state of a repository's files, wherever they are.

use windlass_core::manifest::Selection;

use crate::content::PathContent;
use crate::entry::{EntryKind, ReadError};

/// One state of a repository's files, below a prefix. Paths are relative to the prefix, with `/` between parts.
pub trait FileTree {
    /// What stands at a path, without following links anywhere on the way. `None` if nothing does.
    fn entry(&self, path: &str) -> Result<Option<EntryKind>, ReadError>;

    /// What stands at a path, by git's id of it. A tree that has the ids already reads nothing for it.
    fn content(&self, path: &str) -> Result<PathContent, ReadError>;

    /// The paths that are selected, directories left out, sorted. Of more than a fleet may have, only some.
    fn list(&self, selection: &Selection) -> Result<Vec<(String, EntryKind)>, ReadError>;

    /// The content of a regular file.
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError>;
}
