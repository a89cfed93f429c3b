//! Replaces a file in one step: a reader sees the old content or the new content, also after a power cut.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, Mode, OFlags, XattrFlags};
use rustix::io::Errno;

use super::directory::remove_if_there;
use super::{Attributes, HostTree, LABEL, PathType};
use crate::target::host::error::HostError;

/// Passes the content on to a writer, part by part.
pub(crate) type WriteContent<'a> =
    &'a dyn Fn(&mut dyn FnMut(&[u8]) -> Result<(), HostError>) -> Result<(), HostError>;

/// A file that replaces what is at a path.
pub(crate) struct Replacement<'a> {
    pub(crate) path: &'a str,
    pub(crate) attributes: &'a Attributes,
    pub(crate) content: WriteContent<'a>,
    /// Checks the new file before it is put in place.
    pub(crate) check: &'a dyn Fn(&Path) -> Result<(), HostError>,
}

impl HostTree {
    /// Writes a small file.
    pub(crate) fn replace_text(
        &self,
        path: &str,
        text: &str,
        attributes: &Attributes,
    ) -> Result<(), HostError> {
        let content = |write: &mut dyn FnMut(&[u8]) -> Result<(), HostError>| write(text.as_bytes());
        self.replace(&Replacement { path, attributes, content: &content, check: &|_| Ok(()) })
    }

    /// Writes the new file next to the old one, checks it, and renames it. The directory must exist. If anything fails, the
    /// old file stays.
    pub(crate) fn replace(&self, new: &Replacement<'_>) -> Result<(), HostError> {
        self.refuse_unless_replaceable(new.path)?;
        let (directory, name) = self.existing_parent(new.path)?;
        let temporary = Self::temporary_name(new.path);
        let placed = self.write_temporary(&directory, &temporary, new).and_then(|()| {
            let failed = |error: Errno| HostError::io("replace", new.path, error);
            self.steps.reached("before renaming a file");
            fs::renameat(&directory, temporary.as_str(), &directory, name).map_err(failed)?;
            fs::fsync(&directory).map_err(failed)?;
            self.steps.reached("after renaming a file");
            Ok(())
        });
        if placed.is_err() {
            // The error that matters is the first one.
            let _ = remove_if_there(&directory, &temporary);
        }
        placed
    }

    fn write_temporary(
        &self,
        directory: &OwnedFd,
        name: &str,
        new: &Replacement<'_>,
    ) -> Result<(), HostError> {
        let failed = |error: Errno| HostError::io("write", new.path, error);
        self.steps.reached("before creating a temporary file");
        remove_if_there(directory, name).map_err(failed)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(directory, name, flags, Mode::from_raw_mode(0o600)).map_err(failed)?;
        let mut file = File::from(file);
        (new.content)(&mut |part| {
            // Two halves, so that a test can stop the agent with a torn file.
            let (one, other) = part.split_at(part.len() / 2);
            for half in [one, other] {
                file.write_all(half).map_err(|error| HostError::io("write", new.path, error))?;
                self.steps.reached("in the middle of a temporary file");
            }
            Ok(())
        })?;
        self.set_attributes_of(&file, new.attributes).map_err(failed)?;
        let label = new.attributes.label.clone().or_else(|| self.label_at(new.path));
        if let Some(label) = label {
            fs::fsetxattr(&file, LABEL, &label, XattrFlags::empty()).map_err(failed)?;
        }
        fs::fsync(&file).map_err(failed)?;
        self.steps.reached("after writing a temporary file");
        (new.check)(&real_path(directory, name).map_err(failed)?)
    }

    /// The SELinux label of the file at a path, if there is one.
    fn label_at(&self, path: &str) -> Option<Vec<u8>> {
        let found = self.metadata(path).ok()??;
        let is_file = found.path_type == PathType::File;
        is_file.then(|| self.open_file(path).ok()).flatten().and_then(Self::label_of)
    }
}

/// The path of a file in an open directory, for a command that reads it.
fn real_path(directory: &OwnedFd, name: &str) -> Result<PathBuf, Errno> {
    let link = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let path = fs::readlink(link, Vec::new())?;
    let path: OsString = std::os::unix::ffi::OsStringExt::from_vec(path.into_bytes());
    Ok(Path::new(&path).join(name))
}
