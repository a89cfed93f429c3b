//! Where fleets come from.
//!
//! A [`FileTree`] lists and reads files of one state of a repository: a directory on disk, files that someone sent, or a
//! git revision read straight from the object database, never checked out. A [`Mirror`] brings revisions from a remote.
//! [`read_fleet`] collects the files of a fleet from either. Symbolic links and submodules are refused everywhere, and
//! nothing larger than the limits is ever read into memory: whatever is walked, listed or read has a budget, which is asked
//! before the work.

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
    RemoteProblem, Revision, SignatureProblem, SignedBy, Signers, SignersError, TEST_CONNECT_WITHIN,
    test_remote,
};
pub use parallel::read_uncached_files;
pub use read::{FleetFiles, read_fleet, unreadable};
pub use remote::{
    Branch, BranchError, Credential, HostKeys, HostKeysError, InsecureUrls, PathPrefix, PathPrefixError,
    RemoteScheme, RemoteUrl, RemoteUrlError,
};
pub use tree::FileTree;
