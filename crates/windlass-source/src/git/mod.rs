//! Git: revisions as trees, and bare mirrors of remotes that are fetched, verified and pushed from.
//!
//! This is the only module that uses gix. Everything is read from object databases: no checkout, no hooks, no filters,
//! no submodules, no alternates. Mirrors are opened without the git configuration of user and system and without any
//! `GIT_` variable.

mod budget;
mod check;
mod commit;
mod commit_id;
mod commit_range;
mod connect;
mod contributors;
mod error;
mod fetch;
mod fetch_options;
mod http;
mod kept_content;
mod limits;
mod mirror;
mod objects;
mod private_files;
mod process;
mod progress;
mod prune;
mod push;
mod revision;
mod signature;
mod ssh;
mod tree;

pub use check::{CheckResult, ConnectionCheck, TEST_CONNECT_TIMEOUT, test_remote};
pub use commit::CommitInfo;
pub use commit_id::CommitId;
pub use error::{FetchError, RemoteProblem};
pub use fetch::{FetchResult, Movement};
pub use fetch_options::FetchOptions;
pub use limits::FetchLimits;
pub use mirror::{Mirror, MirrorError};
pub use objects::GitObjects;
pub(crate) use objects::IdHasher;
pub use push::{CommitAuthor, NewFile, Push, PushError};
pub use revision::Revision;
pub use signature::{SignatureProblem, SignedBy, Signers, SignersError};
pub use tree::{GitError, GitTree};
