//! Files and directories of a repository by id, and a hasher for git object ids.

use gix::objs::TreeRefIter;
use gix::objs::tree::EntryMode;
use windlass_core::content::{ContentId, ContentKind, FileSide};

use super::mirror::Mirror;
use super::tree::GitTree;
use crate::content::{DirectoryLimits, ObjectEntry, ObjectKind, Objects, SeenDirectory};
use crate::entry::ReadError;

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

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
    fn has(&self, content: &ContentId) -> bool {
        has(&self.repository, content)
    }

    fn directory(&self, id: &[u8; 20], limits: DirectoryLimits) -> Result<Option<SeenDirectory>, ReadError> {
        find_directory(&self.repository, id, limits).map_err(|source| unreadable(id, source))
    }

    fn file(&self, id: &[u8; 20], limit: u64) -> Result<Option<FileSide>, ReadError> {
        find_file(&self.repository, id, limit).map_err(|source| unreadable(id, source))
    }
}

/// All objects of the repository, whatever the revision.
impl Objects for GitTree {
    fn has(&self, content: &ContentId) -> bool {
        has(self.repository(), content)
    }

    fn directory(&self, id: &[u8; 20], limits: DirectoryLimits) -> Result<Option<SeenDirectory>, ReadError> {
        find_directory(self.repository(), id, limits).map_err(|source| unreadable(id, source))
    }

    fn file(&self, id: &[u8; 20], limit: u64) -> Result<Option<FileSide>, ReadError> {
        find_file(self.repository(), id, limit).map_err(|source| unreadable(id, source))
    }
}

fn has(repository: &gix::Repository, content: &ContentId) -> bool {
    let kind = match content.kind() {
        ContentKind::Blob => gix::objs::Kind::Blob,
        ContentKind::Tree => gix::objs::Kind::Tree,
    };
    let header = repository.try_find_header(gix::ObjectId::from(*content.as_bytes()));
    header.ok().flatten().is_some_and(|header| header.kind() == kind)
}

/// Reads a directory. Its size is checked before it is decoded.
fn find_directory(
    repository: &gix::Repository,
    id: &[u8; 20],
    limits: DirectoryLimits,
) -> Result<Option<SeenDirectory>, BoxedError> {
    let id = gix::ObjectId::from(*id);
    let Some(header) = repository.try_find_header(id)? else { return Ok(None) };
    if header.kind() != gix::objs::Kind::Tree {
        return Ok(None);
    }
    if header.size() > limits.bytes {
        return Ok(Some(SeenDirectory::too_large()));
    }
    let object = repository.find_object(id)?;
    let mut broken = None;
    let entries = TreeRefIter::from_bytes(&object.data, id.kind());
    let entries = entries.map_while(|entry| entry_of(entry).map_err(|error| broken = Some(error)).ok());
    let seen = SeenDirectory::of(entries, limits);
    match broken {
        Some(error) => Err(error),
        None => Ok(Some(SeenDirectory { bytes: header.size(), ..seen })),
    }
}

fn entry_of<E: Into<BoxedError>>(
    entry: Result<gix::objs::tree::EntryRef<'_>, E>,
) -> Result<ObjectEntry, BoxedError> {
    let entry = entry.map_err(Into::into)?;
    let id: [u8; 20] = entry.oid.as_bytes().try_into()?;
    Ok(ObjectEntry { name: entry.filename.to_vec(), kind: kind_of(entry.mode), id })
}

fn find_file(
    repository: &gix::Repository,
    id: &[u8; 20],
    limit: u64,
) -> Result<Option<FileSide>, BoxedError> {
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

fn unreadable(id: &[u8; 20], source: BoxedError) -> ReadError {
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
    /// All objects of the mirror in a directory; `None` if there is no mirror.
    pub fn objects_in(directory: &std::path::Path) -> Option<GitObjects> {
        Mirror::at(directory).open().ok().map(GitObjects::of)
    }
}

/// Computes git object ids, with git's collision detection: content with a SHA-1 collision is an error.
pub(crate) struct IdHasher {
    hasher: gix::hash::Hasher,
}

impl IdHasher {
    /// A hasher for an object of this kind (`blob`, `tree`) and size.
    pub(crate) fn new(kind: &str, size: u64) -> IdHasher {
        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
        hasher.update(format!("{kind} {size}\0").as_bytes());
        IdHasher { hasher }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    pub(crate) fn id(self) -> Result<[u8; 20], BoxedError> {
        Ok(self.hasher.try_finalize()?.as_bytes().try_into()?)
    }

    /// The id of an object in memory.
    pub(crate) fn of(kind: &str, bytes: &[u8]) -> Result<[u8; 20], BoxedError> {
        let mut hasher = IdHasher::new(kind, bytes.len() as u64);
        hasher.update(bytes);
        hasher.id()
    }
}
