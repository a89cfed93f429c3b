//! Files and directories by their git object ids.

use windlass_core::content::{ContentId, FileSide};

use crate::entry::ReadError;
use crate::walk::MAX_NAME_BYTES;

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A file.
    File,
    /// An executable file.
    Executable,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A submodule.
    Submodule,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectEntry {
    /// Its name.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: ObjectKind,
    /// Its git object id.
    pub id: [u8; 20],
}

/// The limits for reading one directory.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryLimits {
    /// A larger directory is not decoded.
    pub bytes: u64,
    /// At most this many entries are returned.
    pub entries: usize,
}

/// The part of a directory that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenDirectory {
    /// The entries, up to the limit.
    pub entries: Vec<ObjectEntry>,
    /// How many bytes were decoded.
    pub bytes: u64,
    /// Whether the directory has more entries.
    pub has_more: bool,
}

impl SeenDirectory {
    /// Collects entries up to the limit. Names that no file system supports are skipped.
    pub(crate) fn of(
        entries: impl IntoIterator<Item = ObjectEntry>,
        limits: DirectoryLimits,
    ) -> SeenDirectory {
        let mut seen = SeenDirectory::default();
        for entry in entries {
            if seen.entries.len() >= limits.entries || entry.name.len() > MAX_NAME_BYTES {
                seen.has_more = true;
                break;
            }
            seen.entries.push(entry);
        }
        seen
    }

    /// The result for a directory that is too large to be decoded.
    pub(crate) fn too_large() -> SeenDirectory {
        SeenDirectory { has_more: true, ..SeenDirectory::default() }
    }
}

/// Reads files and directories by their git object ids.
pub trait Objects {
    /// Whether this object exists here. Decodes nothing.
    fn has(&self, content: &ContentId) -> bool;

    /// Reads a directory. `None` if it does not exist here.
    fn directory(&self, id: &[u8; 20], limits: DirectoryLimits) -> Result<Option<SeenDirectory>, ReadError>;

    /// Reads a file of at most `limit` bytes. `None` if it does not exist here.
    fn file(&self, id: &[u8; 20], limit: u64) -> Result<Option<FileSide>, ReadError>;
}

/// An empty store: of files that a client sent, only ids are known.
#[derive(Clone, Copy, Debug)]
pub struct NoObjects;

impl Objects for NoObjects {
    fn has(&self, _: &ContentId) -> bool {
        false
    }

    fn directory(&self, _: &[u8; 20], _: DirectoryLimits) -> Result<Option<SeenDirectory>, ReadError> {
        Ok(None)
    }

    fn file(&self, _: &[u8; 20], _: u64) -> Result<Option<FileSide>, ReadError> {
        Ok(None)
    }
}

/// Reads from the first of these stores that has the object.
impl Objects for [&dyn Objects] {
    fn has(&self, content: &ContentId) -> bool {
        self.iter().any(|objects| objects.has(content))
    }

    fn directory(&self, id: &[u8; 20], limits: DirectoryLimits) -> Result<Option<SeenDirectory>, ReadError> {
        first_of(self, |objects| objects.directory(id, limits))
    }

    fn file(&self, id: &[u8; 20], limit: u64) -> Result<Option<FileSide>, ReadError> {
        first_of(self, |objects| objects.file(id, limit))
    }
}

/// The result of the first store that has the object; if none has it, the result of the last one.
fn first_of<T>(
    all: &[&dyn Objects],
    ask: impl Fn(&dyn Objects) -> Result<Option<T>, ReadError>,
) -> Result<Option<T>, ReadError> {
    let mut found = Ok(None);
    for objects in all {
        found = ask(*objects);
        if matches!(found, Ok(Some(_))) {
            break;
        }
    }
    found
}
