//! Files and directories of a repository by their ids, and the ids that git would give to what is on disk.

use gix::objs::TreeRefIter;
use gix::objs::tree::EntryMode;
use windlass_core::content::FileSide;

use super::mirror::Mirror;
use super::tree::GitTree;
use crate::ReadError;
use crate::content::{ObjectEntry, ObjectKind, Objects};

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The object database of a repository.
pub struct GitObjects {
    repository: gix::Repository,
}

impl GitObjects {
    pub(super) fn of(repository: gix::Repository) -> GitObjects {
        GitObjects { repository }
    }
}

impl Objects for GitObjects {
    fn directory(&self, id: &[u8; 20], limit: usize) -> Result<Option<Vec<ObjectEntry>>, ReadError> {
        find_directory(&self.repository, id, limit).map_err(|source| unreadable(id, source))
    }

    fn file(&self, id: &[u8; 20], limit: u64) -> Result<Option<FileSide>, ReadError> {
        find_file(&self.repository, id, limit).map_err(|source| unreadable(id, source))
    }
}

/// Everything of the repository, whatever the revision.
impl Objects for GitTree {
    fn directory(&self, id: &[u8; 20], limit: usize) -> Result<Option<Vec<ObjectEntry>>, ReadError> {
        find_directory(self.repository(), id, limit).map_err(|source| unreadable(id, source))
    }

    fn file(&self, id: &[u8; 20], limit: u64) -> Result<Option<FileSide>, ReadError> {
        find_file(self.repository(), id, limit).map_err(|source| unreadable(id, source))
    }
}

fn find_directory(
    repository: &gix::Repository,
    id: &[u8; 20],
    limit: usize,
) -> Result<Option<Vec<ObjectEntry>>, Cause> {
    let id = gix::ObjectId::from(*id);
    let Some(object) = repository.try_find_object(id)? else { return Ok(None) };
    if object.kind != gix::objs::Kind::Tree {
        return Ok(None);
    }
    let mut entries = Vec::new();
    for entry in TreeRefIter::from_bytes(&object.data, id.kind()).take(limit) {
        let entry = entry?;
        let id: [u8; 20] = entry.oid.as_bytes().try_into()?;
        entries.push(ObjectEntry { name: entry.filename.to_vec(), kind: kind_of(entry.mode), id });
    }
    Ok(Some(entries))
}

fn find_file(repository: &gix::Repository, id: &[u8; 20], limit: u64) -> Result<Option<FileSide>, Cause> {
    let id = gix::ObjectId::from(*id);
    let Some(header) = repository.try_find_header(id)? else { return Ok(None) };
    if header.kind() != gix::objs::Kind::Blob {
        return Ok(None);
    }
    if header.size() > limit {
        return Ok(Some(FileSide::Large(header.size())));
    }
    Ok(Some(FileSide::Bytes(repository.find_blob(id)?.take_data())))
}

fn unreadable(id: &[u8; 20], source: Cause) -> ReadError {
    ReadError { path: format!("object {}", gix::ObjectId::from(*id)), source }
}

fn kind_of(mode: EntryMode) -> ObjectKind {
    if mode.is_tree() {
        ObjectKind::Directory
    } else if mode.is_executable() {
        ObjectKind::Executable
    } else if mode.is_blob() {
        ObjectKind::File
    } else if mode.is_link() {
        ObjectKind::Link
    } else {
        ObjectKind::Submodule
    }
}

impl Mirror {
    /// Everything in a mirror by id; none if there is no mirror in this directory.
    pub fn objects_in(directory: &std::path::Path) -> Option<GitObjects> {
        Mirror::at(directory).open().ok().map(GitObjects::of)
    }
}

/// Makes the id that git gives to a file or directory, with git's own defence: content that is made to collide is an
/// error.
pub(crate) struct IdHasher {
    hasher: gix::hash::Hasher,
}

impl IdHasher {
    /// For an object of this kind (`blob`, `tree`) and so many bytes.
    pub(crate) fn new(kind: &str, size: u64) -> IdHasher {
        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
        hasher.update(format!("{kind} {size}\0").as_bytes());
        IdHasher { hasher }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    pub(crate) fn id(self) -> Result<[u8; 20], Cause> {
        Ok(self.hasher.try_finalize()?.as_bytes().try_into()?)
    }

    /// The id of bytes that are at hand.
    pub(crate) fn of(kind: &str, bytes: &[u8]) -> Result<[u8; 20], Cause> {
        let mut hasher = IdHasher::new(kind, bytes.len() as u64);
        hasher.update(bytes);
        hasher.id()
    }
}
