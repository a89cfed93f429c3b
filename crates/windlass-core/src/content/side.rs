//! What stands on one side of a file's difference.

/// What stands on one side of a file's difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSide {
    /// Nothing.
    Nothing,
    /// A file with these bytes.
    Bytes(Vec<u8>),
    /// A file that is too large to be shown, with its size.
    Large(u64),
    /// A symbolic link or a submodule.
    NotAFile,
    /// Something that cannot be had here.
    Missing,
    /// A file that was not read because enough was.
    NotRead,
}

impl FileSide {
    pub(super) fn size(&self) -> Option<u64> {
        match self {
            FileSide::Bytes(bytes) => Some(bytes.len() as u64),
            FileSide::Large(size) => Some(*size),
            FileSide::Nothing | FileSide::NotAFile | FileSide::Missing | FileSide::NotRead => None,
        }
    }
}
