//! Files that only this user can read, for programs that accept secrets only in files.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use tempfile::TempDir;

/// A temporary directory that only this user can access. It is removed when the value is dropped.
pub(super) fn private_directory() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("windlass-git-").permissions(Permissions::from_mode(0o700)).tempdir()
}

/// Creates a file that only this user can read.
pub(super) fn write_private(path: &Path, content: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content.as_bytes())
}
