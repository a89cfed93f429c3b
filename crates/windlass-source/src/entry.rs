//! The entries of a file tree, and the error of reading one.

/// The kind of entry at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file with its size in bytes.
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
    /// The cause.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}
