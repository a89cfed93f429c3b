//! Files that only we can read, for programs that take secrets from nowhere else.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use tempfile::TempDir;

/// A temporary directory that nobody else can look into. It goes away with the value.
pub(super) fn private_directory() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("windlass-git-").permissions(Permissions::from_mode(0o700)).tempdir()
}

/// Creates a file that nobody else can read.
pub(super) fn write_private(path: &Path, content: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content.as_bytes())
}
