//! Files and directories by git's id of them.

use windlass_core::content::{ContentId, FileSide};

use crate::entry::ReadError;
use crate::walk::MAX_NAME_BYTES;

/// What an entry of a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A file.
    File,
    /// A file that may be run.
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
    /// Git's id of it.
    pub id: [u8; 20],
}

/// How much of one directory is looked at.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryLimits {
    /// A directory that has more bytes is not decoded.
    pub bytes: u64,
    /// So many of its entries are taken.
    pub entries: usize,
}

/// What was seen of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenDirectory {
    /// Its entries, as many as were taken.
    pub entries: Vec<ObjectEntry>,
    /// How many bytes were decoded for it.
    pub bytes: u64,
    /// Whether there is more in it than was taken.
    pub has_more: bool,
}

impl SeenDirectory {
    /// As many of these entries as may be taken. Names that no file system holds are left out.
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

    /// A directory that is too large to be decoded.
    pub(crate) fn too_large() -> SeenDirectory {
        SeenDirectory { has_more: true, ..SeenDirectory::default() }
    }
}

/// Files and directories by git's id of them.
pub trait Objects {
    /// Whether this is here. Nothing is decoded for it.
    fn has(&self, content: &ContentId) -> bool;

    /// What is in a directory. None if it is not here.
    fn directory(&self, id: &[u8; 20], limits: DirectoryLimits) -> Result<Option<SeenDirectory>, ReadError>;

    /// A file of at most so many bytes. None if it is not here.
    fn file(&self, id: &[u8; 20], limit: u64) -> Result<Option<FileSide>, ReadError>;
}

/// Objects of which none is here: of files that someone sent, only ids are known.
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

/// What is in the first of these that has it.
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

/// What the first of these has; if none has it, what the last one says.
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
