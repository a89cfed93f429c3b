//! A bare repository on the server, filled from one remote.
//!
//! It has the tip of one branch, and as much history as was needed to distinguish a fast-forward from a rewrite. It is
//! a cache: a damaged mirror is created again. Only one fetch may run at a time; reading during a fetch is safe.

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::budget::{ObjectBudget, sized_tree};
use super::commit_id::CommitId;
use super::tree::GitTree;
use crate::remote::PathPrefix;

/// The local branch of the last fetched commit, whatever its name on the remote.
pub(super) const TIP_REFERENCE: &str = "refs/heads/tip";
/// The prefix of references to the last pushed commit of each branch.
pub(super) const PUSHED_REFERENCES: &str = "refs/windlass/pushed/";
/// A file in the repository's directory that names the remote and branch of the tip.
const ORIGIN_FILE: &str = "windlass-origin";
/// A larger object is neither received nor read. A kilobyte can inflate to a megabyte, and a delta of a hundred bytes
/// can expand to this size.
pub(super) const MAX_OBJECT_BYTES: u64 = 64 << 20;

/// Why a mirror could not be read or created.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// The directory cannot be used.
    #[error("could not use {directory} as a mirror")]
    Directory {
        /// The directory.
        directory: String,
        /// The cause.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The mirror does not have this commit: it was never fetched, or was pruned.
    #[error("the mirror has no commit {id}")]
    NoCommit {
        /// The commit.
        id: CommitId,
    },
    /// The commit exists and cannot be read.
    #[error("commit {id} could not be read")]
    Unreadable {
        /// The commit.
        id: CommitId,
        /// The cause.
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

/// The tip of a mirror, with its origin.
#[derive(Clone, Debug)]
pub(super) struct HeldTip {
    pub(super) commit: CommitId,
    /// The remote and branch of the tip, to notice when they change.
    pub(super) origin: String,
}

impl Mirror {
    /// Opens the mirror in a directory; creates it if it is missing or cannot be opened.
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

    /// Deletes the mirror's content. The next fetch starts from nothing.
    pub fn recreate(&self) -> Result<(), MirrorError> {
        let fail = |source: io::Error| self.unusable(source);
        match fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
            _ => {}
        }
        self.make_empty().map_err(fail)?;
        self.open().map(drop)
    }

    /// Writes the files of an empty bare repository, without the example hooks of `git init`: those would cost more
    /// than the rest of a small repository's first sync.
    fn make_empty(&self) -> io::Result<()> {
        for directory in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
            fs::create_dir_all(self.directory.join(directory))?;
        }
        fs::write(self.directory.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n")?;
        // Written last: without it the directory is not a repository, and is created again.
        fs::write(self.directory.join("HEAD"), format!("ref: {TIP_REFERENCE}\n"))
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
        self.held_tip().map(|held_tip| held_tip.commit)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Opens the repository; objects larger than the limit cannot be read.
    pub(super) fn open(&self) -> Result<gix::Repository, MirrorError> {
        open_options()
            .open(&self.directory)
            .map(|repository| repository.to_thread_local())
            .map_err(|source| self.unusable(source))
    }

    /// The tip, if its commit and tree can be read.
    pub(super) fn held_tip(&self) -> Option<HeldTip> {
        let repository = self.open().ok()?;
        let id = repository.find_reference(TIP_REFERENCE).ok()?.try_id()?.detach();
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

/// Ignores the configuration of user, system and environment; the mirror's own configuration was written by us.
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
