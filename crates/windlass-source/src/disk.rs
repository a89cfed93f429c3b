//! Computes git object ids of files and directories on disk.
//!
//! Each path is read once. A file is hashed with its bytes on disk, whether git ignores or filters it or not;
//! directories without files are left out, as in git.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use windlass_core::content::{ContentId, ContentKind, FileSide};

use crate::content::{DirectoryLimits, ObjectEntry, ObjectKind, PathContent, SeenDirectory};
use crate::entry::{EntryKind, ReadError};
use crate::git::IdHasher;

/// The number of files and directories below the paths that a fleet names.
const MAX_ENTRIES: usize = 100_000;

/// How deep directories may be nested.
const MAX_DEPTH: usize = 64;

/// The total size of those files.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// Computed ids, and the paths they belong to.
#[derive(Clone, Debug, Default)]
pub(crate) struct GitIdIndex {
    paths: BTreeMap<PathBuf, PathContent>,
    directories: BTreeMap<[u8; 20], Vec<ObjectEntry>>,
    files: BTreeMap<[u8; 20], PathBuf>,
    entries: usize,
    bytes: u64,
}

impl GitIdIndex {
    /// The content at a path whose kind is known.
    pub(crate) fn content(
        &mut self,
        path: &Path,
        kind: Option<EntryKind>,
    ) -> Result<PathContent, BoxedError> {
        if let Some(known) = self.paths.get(path) {
            return Ok(*known);
        }
        let content = match kind {
            None | Some(EntryKind::Other) => PathContent::Nothing,
            Some(EntryKind::File(_)) => PathContent::Known(ContentId::blob(self.file_id(path)?)),
            Some(EntryKind::Directory) => PathContent::Known(ContentId::tree(self.directory_id(path, 0)?.0)),
        };
        self.paths.insert(path.to_owned(), content);
        Ok(content)
    }

    /// Whether this id was computed here.
    pub(crate) fn has(&self, content: &ContentId) -> bool {
        match content.kind() {
            ContentKind::Blob => self.files.contains_key(content.as_bytes()),
            ContentKind::Tree => self.directories.contains_key(content.as_bytes()),
        }
    }

    /// Reads a directory whose id was computed. It is already in memory.
    pub(crate) fn directory(&self, id: &[u8; 20], limits: DirectoryLimits) -> Option<SeenDirectory> {
        self.directories.get(id).map(|entries| SeenDirectory::of(entries.iter().cloned(), limits))
    }

    /// Reads a file whose id was computed.
    pub(crate) fn file(&self, id: &[u8; 20], limit: u64) -> Result<Option<FileSide>, ReadError> {
        let Some(path) = self.files.get(id) else { return Ok(None) };
        let fail =
            |source: std::io::Error| ReadError { path: path.display().to_string(), source: source.into() };
        let size = fs::symlink_metadata(path).map_err(fail)?.len();
        if size > limit {
            return Ok(Some(FileSide::Large(size)));
        }
        let mut bytes = Vec::new();
        File::open(path).map_err(fail)?.take(limit).read_to_end(&mut bytes).map_err(fail)?;
        Ok(Some(FileSide::Bytes(bytes)))
    }

    fn file_id(&mut self, path: &Path) -> Result<[u8; 20], BoxedError> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > MAX_BYTES {
            return Err("the files that the fleet names have more than 2 GiB together".into());
        }
        let mut hasher = IdHasher::new("blob", size);
        let mut buffer = vec![0; 64 * 1024];
        let mut read = 0;
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            read += count as u64;
            if read > size {
                break;
            }
            hasher.update(&buffer[..count]);
        }
        if read != size {
            return Err("it changed while Windlass read it".into());
        }
        let id = hasher.id()?;
        self.files.insert(id, path.to_owned());
        Ok(id)
    }

    /// The id of a directory, and how many of its entries count.
    fn directory_id(&mut self, path: &Path, depth: usize) -> Result<([u8; 20], usize), BoxedError> {
        if depth > MAX_DEPTH {
            return Err(format!("directories are nested deeper than {MAX_DEPTH}").into());
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(format!("the fleet names more than {MAX_ENTRIES} files").into());
            }
            let name = entry.file_name().as_bytes().to_vec();
            match (name.as_slice(), depth) {
                (b".git", 0) => continue,
                (b".git", _) => return Err(format!("{} is a separate repository", path.display()).into()),
                _ => {}
            }
            entries.extend(self.entry(name, &entry.path(), depth)?);
        }
        // Git sorts directories as if their names ended in a slash.
        entries.sort_by_key(|entry| {
            let mut name = entry.name.clone();
            if entry.kind == ObjectKind::Directory {
                name.push(b'/');
            }
            name
        });
        let mut bytes = Vec::new();
        for entry in &entries {
            bytes.extend_from_slice(mode_of(entry.kind).as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(&entry.name);
            bytes.push(0);
            bytes.extend_from_slice(&entry.id);
        }
        let id = IdHasher::of("tree", &bytes)?;
        let count = entries.len();
        self.directories.insert(id, entries);
        Ok((id, count))
    }

    /// One entry of a directory; `None` if git would leave it out.
    fn entry(&mut self, name: Vec<u8>, path: &Path, depth: usize) -> Result<Option<ObjectEntry>, BoxedError> {
        let metadata = fs::symlink_metadata(path)?;
        let kind = metadata.file_type();
        let found = if kind.is_dir() {
            let (id, count) = self.directory_id(path, depth + 1)?;
            (count > 0).then_some((ObjectKind::Directory, id))
        } else if kind.is_symlink() {
            let target = fs::read_link(path)?;
            Some((ObjectKind::Link, IdHasher::of("blob", target.as_os_str().as_bytes())?))
        } else if kind.is_file() {
            Some((file_kind(&metadata), self.file_id(path)?))
        } else {
            return Err(format!("{} is neither a file nor a directory", path.display()).into());
        };
        Ok(found.map(|(kind, id)| ObjectEntry { name, kind, id }))
    }
}

fn file_kind(metadata: &Metadata) -> ObjectKind {
    match metadata.permissions().mode() & 0o100 {
        0 => ObjectKind::File,
        _ => ObjectKind::Executable,
    }
}

/// Git's mode of an entry.
const fn mode_of(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::File => "100644",
        ObjectKind::Executable => "100755",
        ObjectKind::Directory => "40000",
        ObjectKind::Link => "120000",
        ObjectKind::Submodule => "160000",
    }
}
