//! Where fleets come from.
//!
//! A [`Tree`] lists and reads files of one state of a repository: a directory on disk, files that someone sent, or a git
//! revision read straight from the object database, never checked out. A [`Mirror`] brings revisions from a remote. [`read_fleet`] collects the files of a fleet from either. Symbolic
//! links and submodules are refused everywhere, and nothing larger than the limits is ever read into memory: whatever is
//! walked, listed or read has a budget, which is asked before the work.

mod content;
mod directory;
mod disk;
mod files;
mod git;
mod parallel;
mod read;
mod remote;
mod walk;

pub use content::{
    Content, DirectoryLimits, NoObjects, ObjectEntry, ObjectKind, Objects, SeenDirectory, content_differences,
};
pub use directory::Directory;
pub use files::{FilePathError, Files};
pub use git::{
    Author, Check, CheckResult, CommitId, CommitInfo, FetchError, FetchOptions, Fetched, GitError,
    GitObjects, GitTree, Limits, Mirror, MirrorError, Movement, NewFile, Problem, Push, PushError, Revision,
    SignatureProblem, SignedBy, Signers, SignersError, TEST_CONNECT_WITHIN, test_remote,
};
pub use parallel::read_ahead;
pub use read::{FleetFiles, read_fleet, unreadable};
pub use remote::{
    Branch, BranchError, Credential, HostKeys, HostKeysError, Insecure, PathPrefix, PathPrefixError,
    RemoteUrl, RemoteUrlError, Scheme,
};

use windlass_core::manifest::Selection;

/// What stands at a path of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file of so many bytes.
    File(u64),
    /// A directory.
    Directory,
    /// A symbolic link, a submodule or a device.
    Other,
}

/// Why a file of a tree could not be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read {path}")]
pub struct ReadError {
    /// The path, relative to the tree's root.
    pub path: String,
    /// What went wrong.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// One state of a repository's files, below a prefix. Paths are relative to the prefix, with `/` between parts.
pub trait Tree {
    /// What stands at a path, without following links anywhere on the way. `None` if nothing does.
    fn entry(&self, path: &str) -> Result<Option<EntryKind>, ReadError>;

    /// What stands at a path, by git's id of it. A tree that has the ids already reads nothing for it.
    fn content(&self, path: &str) -> Result<Content, ReadError>;

    /// The paths that are selected, directories left out, sorted. Of more than a fleet may have, only some.
    fn list(&self, selection: &Selection) -> Result<Vec<(String, EntryKind)>, ReadError>;

    /// The content of a regular file.
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError>;
}
