//! The directory tree of the host, and every access to it.
//!
//! All paths are resolved below the root, as if the root were `/`: a symbolic link never leads outside of it, and a link of
//! another user only to that user's own directories (see [`resolve`]). The last part of a path is never followed when the agent
//! reads, replaces or removes it.

mod directory;
mod replace;
mod resolve;

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::error::HostError;
use super::step_hook::StepHook;
pub(crate) use directory::parent_of;
pub(crate) use replace::Replacement;
use resolve::{OpenError, open_directory};

/// Whether the agent compares and sets the owners of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    Managed,
    /// An unprivileged agent works on a directory tree: it cannot give files to other users.
    Ignored,
}

/// The type of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathType {
    File,
    Directory,
    Link,
    /// A device, a socket or a pipe.
    Special,
}

impl PathType {
    /// The word in differences.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            PathType::File => "file",
            PathType::Directory => "directory",
            PathType::Link => "link",
            PathType::Special => "special file",
        }
    }

    /// The error of a path that must not be replaced.
    pub(crate) fn refuse(self, path: &str) -> HostError {
        let found = match self {
            PathType::File => "a file",
            PathType::Directory => "a directory",
            PathType::Link => "a symbolic link",
            PathType::Special => "a device, a socket or a pipe",
        };
        HostError::WrongPathType { path: path.to_owned(), found }
    }
}

fn path_type(mode: u32) -> PathType {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => PathType::File,
        FileType::Directory => PathType::Directory,
        FileType::Symlink => PathType::Link,
        _ => PathType::Special,
    }
}

/// What the host says about a path, without following a link at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathMetadata {
    pub(crate) path_type: PathType,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) size: u64,
}

/// Mode, owner and SELinux label that a path gets.
#[derive(Clone, Debug)]
pub(crate) struct Attributes {
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// `None` keeps the label of the file that is replaced.
    pub(crate) label: Option<Vec<u8>>,
}

/// The largest file that the agent reads as a whole: lists of accounts and keys, units, kernel settings.
const MAX_TEXT: u64 = 16 * 1024 * 1024;

/// The extended attribute with the SELinux label.
const LABEL: &str = "security.selinux";

/// The directory tree of the host.
#[derive(Debug)]
pub(crate) struct HostTree {
    path: PathBuf,
    root: OwnedFd,
    pub(crate) ownership: Ownership,
    pub(crate) steps: StepHook,
}

impl HostTree {
    pub(crate) fn open(path: &Path, steps: StepHook) -> Result<HostTree, HostError> {
        let shown = path.display().to_string();
        let absolute = path.canonicalize().map_err(|error| HostError::io("open", shown.clone(), error))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root =
            fs::open(&absolute, flags, Mode::empty()).map_err(|error| HostError::io("open", shown, error))?;
        let is_machine = absolute == Path::new("/");
        let ownership = match is_machine || rustix::process::geteuid().is_root() {
            true => Ownership::Managed,
            false => Ownership::Ignored,
        };
        Ok(HostTree { path: absolute, root, ownership, steps })
    }

    /// The root, as the machine that the agent runs on sees it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the root is the machine itself.
    pub(crate) fn is_machine(&self) -> bool {
        self.path == Path::new("/")
    }

    /// The directory that contains a path, and the last part of the path; `None` if the directory does not exist.
    fn parent<'p>(&self, path: &'p str) -> Result<Option<(OwnedFd, &'p str)>, HostError> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        match open_directory(&self.root, directory) {
            Ok(opened) => Ok(Some((opened, name))),
            Err(OpenError::System(Errno::NOENT | Errno::NOTDIR)) => Ok(None),
            Err(error) => Err(error.into_host_error("open", directory)),
        }
    }

    /// The directory that contains a path; an error if it does not exist.
    fn existing_parent<'p>(&self, path: &'p str) -> Result<(OwnedFd, &'p str), HostError> {
        self.parent(path)?.ok_or_else(|| HostError::io("open the directory of", path, Errno::NOENT))
    }

    /// What is at a path; `None` if nothing is there.
    pub(crate) fn metadata(&self, path: &str) -> Result<Option<PathMetadata>, HostError> {
        let Some((directory, name)) = self.parent(path)? else { return Ok(None) };
        let status = match fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => status,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(HostError::io("read", path, error)),
        };
        let path_type = path_type(status.st_mode);
        let size = u64::try_from(status.st_size).unwrap_or(0);
        let mode = status.st_mode & 0o7777;
        Ok(Some(PathMetadata { path_type, mode, uid: status.st_uid, gid: status.st_gid, size }))
    }

    /// Opens a regular file for reading; a link at the end is an error.
    pub(crate) fn open_file(&self, path: &str) -> Result<File, HostError> {
        let (directory, name) = self.existing_parent(path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let failed = |error: Errno| HostError::io("open", path, error);
        let file = fs::openat(&directory, name, flags, Mode::empty()).map_err(failed)?;
        // Whoever owns the directory may have put something else there since the agent looked.
        match path_type(fs::fstat(&file).map_err(failed)?.st_mode) {
            PathType::File => Ok(File::from(file)),
            other => Err(other.refuse(path)),
        }
    }

    /// The content of a small file; `None` if it does not exist.
    pub(crate) fn read_text(&self, path: &str) -> Result<Option<String>, HostError> {
        if self.metadata(path)?.is_none_or(|found| found.path_type != PathType::File) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let read = self.open_file(path)?.take(MAX_TEXT + 1).read_to_end(&mut bytes);
        read.map_err(|error| HostError::io("read", path, error))?;
        match bytes.len() as u64 > MAX_TEXT {
            true => Err(HostError::TooLarge { path: path.to_owned(), limit: MAX_TEXT }),
            false => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        }
    }

    /// The names in a directory, in order; none if it does not exist.
    pub(crate) fn file_names(&self, directory: &str) -> Result<Vec<String>, HostError> {
        let opened = match open_directory(&self.root, directory) {
            Ok(opened) => opened,
            Err(OpenError::System(Errno::NOENT | Errno::NOTDIR)) => return Ok(Vec::new()),
            Err(error) => return Err(error.into_host_error("open", directory)),
        };
        let failed = |error: Errno| HostError::io("read", directory, error);
        let mut names = Vec::new();
        for entry in fs::Dir::new(opened).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// Where a symbolic link points to. That need not be text.
    pub(crate) fn link_target(&self, path: &str) -> Result<Vec<u8>, HostError> {
        let (directory, name) = self.existing_parent(path)?;
        let target = fs::readlinkat(&directory, name, Vec::new());
        target.map(CString::into_bytes).map_err(|error| HostError::io("read the link", path, error))
    }

    /// The SELinux label of an open file, if there is one.
    pub(crate) fn label_of(file: impl AsFd) -> Option<Vec<u8>> {
        let mut label = vec![0; 1024];
        let length = fs::fgetxattr(file, LABEL, label.as_mut_slice()).ok()?;
        label.truncate(length);
        (length > 0).then_some(label)
    }

    /// Writes into a file that the kernel provides, such as one below `/proc/sys`.
    pub(crate) fn write_in_place(&self, path: &str, text: &str) -> Result<(), HostError> {
        self.steps.reached("before writing in place");
        let (directory, name) = self.existing_parent(path)?;
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(&directory, name, flags, Mode::empty());
        let mut file = file.map(File::from).map_err(|error| HostError::io("open", path, error))?;
        io::Write::write_all(&mut file, text.as_bytes())
            .map_err(|error| HostError::io("write", path, error))?;
        self.steps.reached("after writing in place");
        Ok(())
    }
}
