//! A bare repository of our own, filled from one remote.
//!
//! It holds the tip of one branch and as much history as telling a fast-forward from a rewrite needed. It is a cache:
//! a mirror that is damaged is made anew. One fetch at a time; reading meanwhile is fine.

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::budget::{ObjectBudget, sized_tree};
use super::commit_id::CommitId;
use super::tree::GitTree;
use crate::remote::PathPrefix;

/// The branch of the mirror that is what was fetched last, whatever the remote calls it.
pub(super) const TIP: &str = "refs/heads/tip";
/// Below this: what was pushed from here last, by branch.
pub(super) const PUSHED: &str = "refs/windlass/pushed/";
/// Beside the repository's own files: which remote and branch the tip is from.
const ORIGIN_FILE: &str = "windlass-origin";
/// An object that is larger once it is inflated is neither received nor read. A kilobyte can inflate to a megabyte, and
/// a delta of a hundred bytes to this.
pub(super) const MAX_OBJECT_BYTES: u64 = 64 << 20;

/// Why a mirror could not be read or made.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// The directory cannot be used.
    #[error("could not use {directory} as a mirror")]
    Directory {
        /// Which one.
        directory: String,
        /// What went wrong.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The mirror has no such commit: it was never fetched, or was pruned.
    #[error("the mirror has no commit {id}")]
    NoCommit {
        /// The commit.
        id: CommitId,
    },
    /// The commit is there and cannot be read.
    #[error("commit {id} could not be read")]
    Unreadable {
        /// The commit.
        id: CommitId,
        /// What went wrong.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

impl MirrorError {
    pub(super) fn unreadable(id: &CommitId, source: impl Into<Box<dyn Error + Send + Sync>>) -> MirrorError {
        MirrorError::Unreadable { id: id.clone(), source: source.into() }
    }
}

/// A mirror on disk.
#[derive(Clone, Debug)]
pub struct Mirror {
    directory: PathBuf,
}

/// What a mirror holds.
#[derive(Clone, Debug)]
pub(super) struct HeldTip {
    pub(super) commit: CommitId,
    /// Remote and branch as they were written down, to notice when they change.
    pub(super) origin: String,
}

impl Mirror {
    /// The mirror in a directory, made if it is not there and made anew if it cannot be opened.
    pub fn open_or_create(directory: &Path) -> Result<Mirror, MirrorError> {
        let mirror = Mirror::at(directory);
        if mirror.open().is_err() {
            mirror.recreate()?;
        }
        Ok(mirror)
    }

    pub(super) fn at(directory: &Path) -> Mirror {
        Mirror { directory: directory.to_owned() }
    }

    /// Throws away what the mirror holds. The next fetch starts from nothing.
    pub fn recreate(&self) -> Result<(), MirrorError> {
        let fail = |source: io::Error| self.unusable(source);
        match fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
            _ => {}
        }
        self.make_empty().map_err(fail)?;
        self.open().map(drop)
    }

    /// What makes a directory a bare repository, and none of the examples of hooks that a new one usually comes with: they
    /// cost more than the rest of a small repository's first sync.
    fn make_empty(&self) -> io::Result<()> {
        for directory in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
            fs::create_dir_all(self.directory.join(directory))?;
        }
        fs::write(self.directory.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n")?;
        // Last: without it the directory is no repository, and is made anew.
        fs::write(self.directory.join("HEAD"), format!("ref: {TIP}\n"))
    }

    /// The files of a commit below a prefix.
    pub fn tree(&self, id: &CommitId, prefix: &PathPrefix) -> Result<GitTree, MirrorError> {
        let repository = self.open()?;
        let tree = self
            .find_commit(&repository, id)?
            .tree_id()
            .map_err(|source| MirrorError::unreadable(id, source))?
            .detach();
        Ok(GitTree::new(repository, tree, prefix.as_str()))
    }

    /// The commit that was fetched last.
    pub fn tip(&self) -> Option<CommitId> {
        self.held().map(|held| held.commit)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Opens the repository; no object may inflate to more than the limit.
    pub(super) fn open(&self) -> Result<gix::Repository, MirrorError> {
        open_options()
            .open(&self.directory)
            .map(|repository| repository.to_thread_local())
            .map_err(|source| self.unusable(source))
    }

    /// What the mirror holds, if it is whole: the tip's commit and tree can be read.
    pub(super) fn held(&self) -> Option<HeldTip> {
        let repository = self.open().ok()?;
        let id = repository.find_reference(TIP).ok()?.try_id()?.detach();
        let commit = CommitId::of(&id);
        let tree = self.find_commit(&repository, &commit).ok()?.tree_id().ok()?.detach();
        sized_tree(&repository, tree, &ObjectBudget::start()).ok()?;
        let origin = fs::read_to_string(self.directory.join(ORIGIN_FILE)).unwrap_or_default();
        Some(HeldTip { commit, origin })
    }

    pub(super) fn write_origin(&self, origin: &str) -> io::Result<()> {
        fs::write(self.directory.join(ORIGIN_FILE), origin)
    }

    pub(super) fn unusable(&self, source: impl Into<Box<dyn Error + Send + Sync>>) -> MirrorError {
        MirrorError::Directory { directory: self.directory.display().to_string(), source: source.into() }
    }
}

pub(super) fn ignore_not_found(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Nothing from the user, the system or the environment; the mirror's own configuration is what we wrote.
fn open_options() -> gix::open::Options {
    gix::open::Options::isolated()
        .open_path_as_is(true)
        .with(gix::sec::Trust::Full)
        .strict_config(true)
        .config_overrides([
            format!("gitoxide.objects.allocLimit={MAX_OBJECT_BYTES}"),
            "core.logAllRefUpdates=false".to_owned(),
            "protocol.version=2".to_owned(),
            "pack.threads=1".to_owned(),
        ])
}
