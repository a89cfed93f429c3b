//! One side of a file's difference.

/// One side of a file's difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSide {
    /// There is no file.
    Nothing,
    /// The bytes of a file.
    Bytes(Vec<u8>),
    /// The size of a file that is too large to be shown.
    Large(u64),
    /// A symbolic link or a submodule.
    NotAFile,
    /// A file that is not available here.
    Missing,
    /// A file that was not read because of the limits.
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
