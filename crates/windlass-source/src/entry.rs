//! What stands at a path of a tree, and why it could not be read.

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
