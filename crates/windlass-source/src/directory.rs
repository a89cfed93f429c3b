//! A directory on disk as a tree.

use std::cell::RefCell;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use windlass_core::manifest::Selection;

use crate::walk::{Child, Children, Directories, WalkLimits, too_many_names, walk};
use windlass_core::content::{ContentId, FileSide};

use crate::content::{DirectoryLimits, Objects, PathContent, SeenDirectory};
use crate::disk::GitIdIndex;
use crate::entry::{EntryKind, ReadError};
use crate::tree::FileTree;

/// A directory on disk. Symbolic links inside it are rejected, never followed.
#[derive(Clone, Debug)]
pub struct DiskTree {
    root: PathBuf,
    ids: RefCell<GitIdIndex>,
}

impl DiskTree {
    /// The tree below this directory.
    pub fn new(root: impl Into<PathBuf>) -> DiskTree {
        DiskTree { root: root.into(), ids: RefCell::default() }
    }

    fn kind_of(path: &Path) -> std::io::Result<EntryKind> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(match metadata.file_type() {
            kind if kind.is_file() => EntryKind::File(metadata.len()),
            kind if kind.is_dir() => EntryKind::Directory,
            _ => EntryKind::Other,
        })
    }
}

impl Directories for DiskTree {
    type Id = ();

    fn children(&self, path: &str, (): &(), at_most: usize) -> Result<Children<()>, ReadError> {
        let fail = |source: std::io::Error| ReadError { path: path.to_owned(), source: source.into() };
        let mut children = Vec::new();
        for entry in fs::read_dir(self.root.join(path)).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name();
            // A name that is not UTF-8 cannot match a pattern either.
            let Some(name) = name.to_str().filter(|name| *name != ".git") else { continue };
            if children.len() == at_most {
                return Err(too_many_names(WalkLimits::default().entries).at(path));
            }
            let child = match entry.file_type().map_err(fail)?.is_dir() {
                true => Child::Directory(()),
                false => Child::File(()),
            };
            children.push((name.to_owned(), child));
        }
        Ok(children)
    }

    fn kind(&self, path: &str, (): &()) -> Result<EntryKind, ReadError> {
        let fail = |source: std::io::Error| ReadError { path: path.to_owned(), source: source.into() };
        DiskTree::kind_of(&self.root.join(path)).map_err(fail)
    }
}

impl FileTree for DiskTree {
    fn entry(&self, path: &str) -> Result<Option<EntryKind>, ReadError> {
        let mut at = self.root.clone();
        let mut kind = EntryKind::Directory;
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            at.push(part);
            kind = match DiskTree::kind_of(&at) {
                Ok(kind) => kind,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
                Err(error) => return Err(ReadError { path: path.to_owned(), source: error.into() }),
            };
            if kind == EntryKind::Other {
                break;
            }
        }
        Ok(Some(kind))
    }

    fn content(&self, path: &str) -> Result<PathContent, ReadError> {
        let plain = path.strip_prefix("./").unwrap_or(path).trim_matches('/');
        let kind = self.entry(plain)?;
        let id = self.ids.borrow_mut().content(&self.root.join(plain), kind);
        id.map_err(|source| ReadError { path: path.to_owned(), source })
    }

    fn list(&self, selection: &Selection) -> Result<Vec<(String, EntryKind)>, ReadError> {
        walk(self, (), selection, WalkLimits::default())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let fail = |source: std::io::Error| ReadError { path: path.to_owned(), source: source.into() };
        let mut bytes = Vec::new();
        // A file may grow between reading its size and its content; one byte over the limit is enough to detect that.
        let limit = windlass_core::yaml::MAX_FILE_BYTES as u64 + 1;
        fs::File::open(self.root.join(path))
            .map_err(fail)?
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(fail)?;
        Ok(bytes)
    }
}

/// The objects whose ids were computed by [`FileTree::content`].
impl Objects for DiskTree {
    fn has(&self, content: &ContentId) -> bool {
        self.ids.borrow().has(content)
    }

    fn directory(&self, id: &[u8; 20], limits: DirectoryLimits) -> Result<Option<SeenDirectory>, ReadError> {
        Ok(self.ids.borrow().directory(id, limits))
    }

    fn file(&self, id: &[u8; 20], limit: u64) -> Result<Option<FileSide>, ReadError> {
        self.ids.borrow().file(id, limit)
    }
}
