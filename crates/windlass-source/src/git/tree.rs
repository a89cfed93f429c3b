//! A git revision as a tree, read from the object database.
//!
//! Names that git itself would never write (`..`, `.git`, a slash inside) are skipped: whoever can push decides the
//! content of a tree, and its paths must stay inside. The size of an object is checked before it is read, and one
//! budget limits all reading of a revision.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use gix::bstr::ByteSlice as _;
use gix::objs::tree::EntryMode;
use windlass_core::manifest::Selection;
use windlass_core::yaml::MAX_FILE_BYTES;

use super::budget::{MAX_COMMIT_BYTES, ObjectBudget, sized_tree};
use crate::walk::{
    Child, Children, Directories, MAX_NAME_BYTES, WalkLimits, name_too_long, too_many_names, walk,
};
use windlass_core::content::ContentId;

use crate::content::PathContent;
use crate::entry::{EntryKind, ReadError};
use crate::tree::FileTree;

/// A tag may point to another tag; longer chains are rejected.
const MAX_TAGS: usize = 8;

/// Why a revision could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The path is not in a repository.
    #[error("{path} is not inside a git repository")]
    NoRepository {
        /// The path.
        path: String,
        /// The error of gix.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The repository has no such revision.
    #[error("the git repository has no revision `{revision}`")]
    NoRevision {
        /// The revision.
        revision: String,
        /// The error of gix.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The path lies outside the repository's work tree.
    #[error("{path} is outside the repository's work tree")]
    Outside {
        /// The path.
        path: String,
    },
}

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// How many directory entries are cached. A fleet reads the same few directories many times.
const MAX_KEPT_ENTRIES: usize = 200_000;

/// A decoded directory.
type DirectoryListing = Arc<DirectoryNames>;

/// The entries of a directory, by name.
#[derive(Default)]
struct DirectoryNames {
    known: BTreeMap<String, (EntryMode, gix::ObjectId)>,
    /// Whether entries were left out because their names are too long.
    has_overlong: bool,
}

/// The decoded directories, and their total number of entries.
#[derive(Default)]
struct ListingCache {
    known: BTreeMap<gix::ObjectId, DirectoryListing>,
    entries: usize,
}

impl ListingCache {
    fn keep(&mut self, tree: gix::ObjectId, listing: &DirectoryListing) {
        if self.entries + listing.known.len() > MAX_KEPT_ENTRIES {
            *self = ListingCache::default();
        }
        self.entries += listing.known.len();
        self.known.insert(tree, Arc::clone(listing));
    }
}

/// The files of one revision, below a prefix.
pub struct GitTree {
    repository: gix::Repository,
    tree: gix::ObjectId,
    prefix: String,
    listings: RefCell<ListingCache>,
    budget: ObjectBudget,
}

impl GitTree {
    /// Opens a revision of the repository that contains `path`; the tree's root is the directory `path` in it.
    pub fn open(path: &Path, revision: &str) -> Result<GitTree, GitError> {
        let shown = || path.display().to_string();
        let repository = gix::discover(path)
            .map_err(|source| GitError::NoRepository { path: shown(), source: source.into() })?;
        let prefix = prefix_of(&repository, path).ok_or_else(|| GitError::Outside { path: shown() })?;
        let fail = |source: Box<dyn std::error::Error + Send + Sync>| GitError::NoRevision {
            revision: revision.to_owned(),
            source,
        };
        let id = repository.rev_parse_single(revision).map_err(|error| fail(error.into()))?.detach();
        let tree = tree_of(&repository, id).map_err(fail)?;
        Ok(GitTree::new(repository, tree, &prefix))
    }

    pub(super) fn new(repository: gix::Repository, tree: gix::ObjectId, prefix: &str) -> GitTree {
        GitTree {
            repository,
            tree,
            prefix: prefix.to_owned(),
            listings: RefCell::default(),
            budget: ObjectBudget::start(),
        }
    }

    pub(super) fn repository(&self) -> &gix::Repository {
        &self.repository
    }

    /// The content at a path, from the listings of its parent directories, without reading the object.
    fn content_at(&self, path: &str) -> Result<PathContent, BoxedError> {
        let mut at = (gix::objs::tree::EntryKind::Tree.into(), self.tree);
        for part in self.full_path(path).split('/').filter(|part| !part.is_empty()) {
            let (mode, directory): (EntryMode, gix::ObjectId) = at;
            let found = match mode.is_tree() {
                true => self.listing(directory)?.known.get(part).copied(),
                false => None,
            };
            let Some(found) = found else { return Ok(PathContent::Nothing) };
            at = found;
        }
        let id: [u8; 20] = at.1.as_bytes().try_into()?;
        Ok(match at.0 {
            mode if mode.is_tree() => PathContent::Known(ContentId::tree(id)),
            mode if mode.is_blob() => PathContent::Known(ContentId::blob(id)),
            _ => PathContent::Nothing,
        })
    }

    fn full_path(&self, path: &str) -> String {
        [self.prefix.as_str(), path]
            .iter()
            .flat_map(|part| part.split('/'))
            .filter(|part| !part.is_empty() && *part != ".")
            .collect::<Vec<_>>()
            .join("/")
    }

    /// The listing of a directory. Decoding a large one is expensive, so it is cached.
    fn listing(&self, tree: gix::ObjectId) -> Result<DirectoryListing, BoxedError> {
        if let Some(known) = self.listings.borrow().known.get(&tree) {
            return Ok(Arc::clone(known));
        }
        let mut names = DirectoryNames::default();
        for entry in sized_tree(&self.repository, tree, &self.budget)?.iter() {
            let entry = entry?;
            // A name that is not UTF-8 cannot match a pattern either.
            let Ok(name) = entry.filename().to_str() else { continue };
            if name.len() > MAX_NAME_BYTES {
                names.has_overlong = true;
            } else if is_plain(name) {
                names.known.insert(name.to_owned(), (entry.mode(), entry.oid().to_owned()));
            }
        }
        let listing: DirectoryListing = Arc::new(names);
        self.listings.borrow_mut().keep(tree, &listing);
        Ok(listing)
    }

    /// The kind and id at a path; `None` if a parent is not a directory.
    fn find(&self, full: &str) -> Result<Option<(EntryKind, gix::ObjectId)>, BoxedError> {
        let mut at = (EntryKind::Directory, self.tree);
        for part in full.split('/').filter(|part| !part.is_empty()) {
            match at.0 {
                EntryKind::Other => return Ok(Some(at)),
                EntryKind::File(_) => return Ok(None),
                EntryKind::Directory => {}
            }
            let Some((mode, id)) = self.listing(at.1)?.known.get(part).copied() else { return Ok(None) };
            at = (self.kind_of(mode, id)?, id);
        }
        Ok(Some(at))
    }

    fn kind_of(&self, mode: EntryMode, id: gix::ObjectId) -> Result<EntryKind, BoxedError> {
        Ok(if mode.is_tree() {
            EntryKind::Directory
        } else if mode.is_blob() {
            self.budget.check()?;
            EntryKind::File(self.repository.find_header(id)?.size())
        } else {
            EntryKind::Other
        })
    }
}

impl Directories for GitTree {
    type Id = (EntryMode, gix::ObjectId);

    fn children(
        &self,
        path: &str,
        (_, id): &Self::Id,
        at_most: usize,
    ) -> Result<Children<Self::Id>, ReadError> {
        let listing = self.listing(*id).map_err(|source| ReadError { path: path.to_owned(), source })?;
        if listing.has_overlong {
            return Err(name_too_long().at(path));
        }
        if listing.known.len() > at_most {
            return Err(too_many_names(WalkLimits::default().entries).at(path));
        }
        let child = |(name, id): (&String, &Self::Id)| {
            let child = if id.0.is_tree() { Child::Directory(*id) } else { Child::File(*id) };
            (name.clone(), child)
        };
        Ok(listing.known.iter().map(child).collect())
    }

    fn kind(&self, path: &str, (mode, id): &Self::Id) -> Result<EntryKind, ReadError> {
        self.kind_of(*mode, *id).map_err(|source| ReadError { path: path.to_owned(), source })
    }
}

/// The tree of a commit, or of the object that a tag points to.
fn tree_of(repository: &gix::Repository, mut id: gix::ObjectId) -> Result<gix::ObjectId, BoxedError> {
    use gix::objs::Kind;
    for _ in 0..MAX_TAGS {
        let header = repository.find_header(id)?;
        if header.kind() == Kind::Tree {
            return Ok(id);
        }
        if header.size() > MAX_COMMIT_BYTES {
            return Err("it has more than 1 MiB".into());
        }
        id = match header.kind() {
            Kind::Commit => repository.find_commit(id)?.tree_id()?.detach(),
            Kind::Tag => repository.find_tag(id)?.target_id()?.detach(),
            Kind::Blob | Kind::Tree => return Err("it is a file".into()),
        };
    }
    Err("its tags point only to tags".into())
}

/// Whether git itself would write this name.
fn is_plain(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && !name.eq_ignore_ascii_case(".git")
        && !name.contains(['/', '\\', '\0'])
}

/// The path of a directory relative to the repository's work tree.
fn prefix_of(repository: &gix::Repository, path: &Path) -> Option<String> {
    let root = repository.workdir()?.canonicalize().ok()?;
    let path = path.canonicalize().ok()?;
    let relative = path.strip_prefix(&root).ok()?;
    let parts: Option<Vec<&str>> = relative.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}

impl FileTree for GitTree {
    fn entry(&self, path: &str) -> Result<Option<EntryKind>, ReadError> {
        let found = self.find(&self.full_path(path));
        found
            .map(|found| found.map(|(kind, _)| kind))
            .map_err(|source| ReadError { path: path.to_owned(), source })
    }

    fn content(&self, path: &str) -> Result<PathContent, ReadError> {
        self.content_at(path).map_err(|source| ReadError { path: path.to_owned(), source })
    }

    fn list(&self, selection: &Selection) -> Result<Vec<(String, EntryKind)>, ReadError> {
        let root = self.find(&self.full_path(""));
        match root.map_err(|source| ReadError { path: String::new(), source })? {
            Some((EntryKind::Directory, id)) => {
                let root = (gix::objs::tree::EntryKind::Tree.into(), id);
                walk(self, root, selection, WalkLimits::default())
            }
            _ => Ok(Vec::new()),
        }
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let fail = |source| ReadError { path: path.to_owned(), source };
        match self.find(&self.full_path(path)).map_err(fail)? {
            Some((EntryKind::File(size), _)) if size > MAX_FILE_BYTES as u64 => {
                Err(fail(format!("it has {size} bytes, more than the 1 MiB limit").into()))
            }
            Some((EntryKind::File(_), id)) => {
                self.budget.check().map_err(|error| fail(error.into()))?;
                let mut blob = self.repository.find_blob(id).map_err(|error| fail(error.into()))?;
                Ok(blob.take_data())
            }
            _ => Err(fail("it is not a regular file".into())),
        }
    }
}
