//! A git revision as a tree, read from the object database.
//!
//! This is the only module that knows gix. No checkout, no hooks, no filters, no submodules, no configuration of the
//! repository is executed.

use std::path::Path;

use gix::bstr::ByteSlice as _;
use gix::objs::tree::EntryMode;

use crate::{EntryKind, ReadError, Tree};

/// Why a revision could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no repository around this path.
    #[error("{path} is not inside a git repository")]
    NoRepository {
        /// The path that was asked about.
        path: String,
        /// What gix said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The repository has no such revision.
    #[error("the git repository has no revision `{revision}`")]
    NoRevision {
        /// The revision that was asked for.
        revision: String,
        /// What gix said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The path lies outside the repository's work tree.
    #[error("{path} lies outside the repository's work tree")]
    Outside {
        /// The path that was asked about.
        path: String,
    },
}

/// The files of one revision, below a prefix.
pub struct GitTree {
    repository: gix::Repository,
    tree: gix::ObjectId,
    prefix: String,
}

impl GitTree {
    /// The revision of the repository around `path`; the tree's root is the directory that `path` is in the
    /// repository.
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
        let object = repository.find_object(id).map_err(|error| fail(error.into()))?;
        let tree = object.peel_to_tree().map_err(|error| fail(error.into()))?.id;
        Ok(GitTree { repository, tree, prefix })
    }

    fn full_path(&self, path: &str) -> String {
        [self.prefix.as_str(), path]
            .iter()
            .flat_map(|part| part.split('/'))
            .filter(|part| !part.is_empty() && *part != ".")
            .collect::<Vec<_>>()
            .join("/")
    }

    /// The mode and id at a path, stopping at anything that is not a directory on the way.
    fn find(
        &self,
        full: &str,
    ) -> Result<Option<(EntryKind, gix::ObjectId)>, Box<dyn std::error::Error + Send + Sync>> {
        let mut at = (EntryKind::Directory, self.tree);
        for part in full.split('/').filter(|part| !part.is_empty()) {
            if at.0 == EntryKind::Other {
                return Ok(Some(at));
            }
            if at.0 != EntryKind::Directory {
                return Ok(None);
            }
            let tree = self.repository.find_tree(at.1)?;
            let decoded = tree.decode()?;
            let Some(entry) = decoded.entries.iter().find(|entry| entry.filename == part.as_bytes()) else {
                return Ok(None);
            };
            at = (self.kind_of(entry.mode, entry.oid)?, entry.oid.to_owned());
        }
        Ok(Some(at))
    }

    fn kind_of(
        &self,
        mode: EntryMode,
        id: &gix::oid,
    ) -> Result<EntryKind, Box<dyn std::error::Error + Send + Sync>> {
        Ok(if mode.is_tree() {
            EntryKind::Directory
        } else if mode.is_blob() {
            EntryKind::File(self.repository.find_header(id)?.size())
        } else {
            EntryKind::Other
        })
    }

    fn walk(
        &self,
        tree: gix::ObjectId,
        relative: &str,
        found: &mut Vec<(String, EntryKind)>,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let tree = self.repository.find_tree(tree)?;
        for entry in tree.decode()?.entries {
            let Ok(name) = entry.filename.to_str() else { continue };
            let path = if relative.is_empty() { name.to_owned() } else { format!("{relative}/{name}") };
            match self.kind_of(entry.mode, entry.oid)? {
                EntryKind::Directory => self.walk(entry.oid.to_owned(), &path, found)?,
                kind => found.push((path, kind)),
            }
        }
        Ok(())
    }
}

/// Where a path is inside the repository's work tree.
fn prefix_of(repository: &gix::Repository, path: &Path) -> Option<String> {
    let root = repository.workdir()?.canonicalize().ok()?;
    let path = path.canonicalize().ok()?;
    let relative = path.strip_prefix(&root).ok()?;
    let parts: Option<Vec<&str>> = relative.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}

impl Tree for GitTree {
    fn entry(&self, path: &str) -> Result<Option<EntryKind>, ReadError> {
        let found = self.find(&self.full_path(path));
        found
            .map(|found| found.map(|(kind, _)| kind))
            .map_err(|source| ReadError { path: path.to_owned(), source })
    }

    fn list(&self, directory: &str) -> Result<Vec<(String, EntryKind)>, ReadError> {
        let fail = |source| ReadError { path: directory.to_owned(), source };
        let mut found = Vec::new();
        if let Some((EntryKind::Directory, id)) = self.find(&self.full_path(directory)).map_err(fail)? {
            self.walk(id, directory.trim_matches('/'), &mut found).map_err(fail)?;
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let fail = |source| ReadError { path: path.to_owned(), source };
        match self.find(&self.full_path(path)).map_err(fail)? {
            Some((EntryKind::File(_), id)) => {
                let mut blob = self.repository.find_blob(id).map_err(|error| fail(error.into()))?;
                Ok(blob.take_data())
            }
            _ => Err(fail("there is no regular file".into())),
        }
    }
}
