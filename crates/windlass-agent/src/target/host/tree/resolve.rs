//! Finds the directory of a path below the root, without being led astray.
//!
//! A symbolic link on the way is followed below the root, as if the root were `/`. A link that another user made is followed
//! only to a directory of that user: otherwise someone who owns `/home/web` could let the agent write to `/etc`.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use rustix::fs::{self, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::target::host::error::HostError;

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// Why a directory cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenError {
    /// The operating system says so.
    System(Errno),
    /// A link of this user leads to a directory of another one.
    ForeignLink(u32),
}

impl From<Errno> for OpenError {
    fn from(error: Errno) -> OpenError {
        OpenError::System(error)
    }
}

impl OpenError {
    pub(super) fn into_host_error(self, action: &'static str, path: &str) -> HostError {
        match self {
            OpenError::System(error) => HostError::io(action, path, error),
            OpenError::ForeignLink(uid) => HostError::ForeignLink { path: path.to_owned(), uid },
        }
    }
}

/// Opens a directory; links on the way and at the end are followed below the root.
pub(super) fn open_directory(root: &OwnedFd, path: &str) -> Result<OwnedFd, OpenError> {
    let relative = match path.trim_start_matches('/') {
        "" => ".",
        relative => relative,
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS;
    match fs::openat2(root, relative, flags, Mode::empty(), resolve) {
        // There is a link on the way, or another process renames directories, or the kernel is older than 5.6.
        Err(Errno::LOOP | Errno::AGAIN | Errno::NOSYS) => walk(root, relative),
        result => Ok(result?),
    }
}

/// Goes through a path part by part.
fn walk(root: &OwnedFd, relative: &str) -> Result<OwnedFd, OpenError> {
    let agent = rustix::process::geteuid().as_raw();
    let mut parts: VecDeque<Vec<u8>> = relative.split('/').map(|part| part.as_bytes().to_vec()).collect();
    let mut opened: Vec<OwnedFd> = Vec::new();
    let (mut links, mut foreign) = (0, Vec::new());
    while let Some(part) = parts.pop_front() {
        match &part[..] {
            b"" | b"." => continue,
            b".." => {
                opened.pop();
                continue;
            }
            _ => {}
        }
        let here = opened.last().unwrap_or(root);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let next = fs::openat(here, &part[..], flags, Mode::empty())?;
        let found = fs::fstat(&next)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => opened.push(next),
            FileType::Symlink => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Errno::LOOP.into());
                }
                if found.st_uid != 0 && found.st_uid != agent {
                    foreign.push(found.st_uid);
                }
                let target = fs::readlinkat(&next, "", Vec::new())?.into_bytes();
                if target.starts_with(b"/") {
                    opened.clear();
                }
                for part in target.split(|byte| *byte == b'/').rev() {
                    parts.push_front(part.to_vec());
                }
            }
            _ => return Err(Errno::NOTDIR.into()),
        }
    }
    let end = opened.last().unwrap_or(root);
    let owner = fs::fstat(end)?.st_uid;
    if let Some(uid) = foreign.into_iter().find(|uid| *uid != owner) {
        return Err(OpenError::ForeignLink(uid));
    }
    Ok(fs::openat(end, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}
