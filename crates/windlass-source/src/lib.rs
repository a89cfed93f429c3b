//! Reads fleets from directories, from git repositories and from files that clients send.
//!
//! A [`FileTree`] lists and reads the files of one state of a repository: a directory on disk, files of a request, or a
//! git revision read from the object database without a checkout. A [`Mirror`] fetches revisions from a remote.
//! [`read_fleet`] collects the files of a fleet from any of them. Symbolic links and submodules are rejected
//! everywhere, and nothing above the limits is read into memory: every walk, listing and read checks its budget before
//! the work.

mod content;
mod directory;
mod disk;
mod entry;
mod files;
mod git;
mod parallel;
mod read;
mod remote;
mod tree;
mod walk;

pub use content::{
    DirectoryLimits, NoObjects, ObjectEntry, ObjectKind, Objects, PathContent, SeenDirectory,
    content_differences,
};
pub use directory::DiskTree;
pub use entry::{EntryKind, ReadError};
pub use files::{FilePathError, SentFiles};
pub use git::{
    CheckResult, CommitAuthor, CommitId, CommitInfo, ConnectionCheck, FetchError, FetchLimits, FetchOptions,
    FetchResult, GitError, GitObjects, GitTree, Mirror, MirrorError, Movement, NewFile, Push, PushError,
    RemoteProblem, Revision, SignatureProblem, SignedBy, Signers, SignersError, TEST_CONNECT_TIMEOUT,
    test_remote,
};
pub use parallel::read_uncached_files;
pub use read::{FleetFiles, read_fleet, unreadable};
pub use remote::{
    Branch, BranchError, Credential, HostKeys, HostKeysError, InsecureUrls, PathPrefix, PathPrefixError,
    RemoteScheme, RemoteUrl, RemoteUrlError,
};
pub use tree::FileTree;
