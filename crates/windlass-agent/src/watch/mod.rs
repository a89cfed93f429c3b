//! Notices changes of managed paths at once, by inotify. The interval finds whatever this misses.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use tokio::net::unix::pipe;
use windlass_core::host::{HostItem, HostState};

/// The most directories that are watched. Hosts allow 8192 or more for each user.
const MAX_DIRECTORIES: usize = 1024;

/// Watches the directories in which managed paths are.
#[derive(Debug, Default)]
pub(crate) struct Watcher {
    /// The file descriptor of inotify. Tokio reads it as it reads a pipe.
    inotify: Option<pipe::Receiver>,
    /// Of each watch, the names that matter.
    names: BTreeMap<i32, BTreeSet<OsString>>,
}

/// The directories of a state's paths below a root, each with the names that matter.
pub(crate) fn watched_paths(root: &Path, state: &HostState) -> BTreeMap<PathBuf, BTreeSet<OsString>> {
    let mut directories: BTreeMap<PathBuf, BTreeSet<OsString>> = BTreeMap::new();
    for one in &state.items {
        let (HostItem::File(path, _) | HostItem::Directory(path, _) | HostItem::Link(path, _)) = &one.item
        else {
            continue;
        };
        let path = root.join(path.as_str().trim_start_matches('/'));
        if let (Some(directory), Some(name)) = (path.parent(), path.file_name())
            && (directories.len() < MAX_DIRECTORIES || directories.contains_key(directory))
        {
            directories.entry(directory.to_owned()).or_default().insert(name.to_owned());
        }
    }
    directories
}

impl Watcher {
    /// Watches these directories and no others. If the host allows no watches, only the interval finds changes.
    pub(crate) fn watch(&mut self, directories: BTreeMap<PathBuf, BTreeSet<OsString>>) {
        *self = Watcher::default();
        let opened = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC);
        let inotify = match opened.map_err(io::Error::from).and_then(pipe::Receiver::from_owned_fd_unchecked)
        {
            Ok(inotify) => inotify,
            Err(error) => {
                tracing::warn!(%error, "cannot watch files; changes are found at the next interval");
                return;
            }
        };
        let flags = WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR;
        for (directory, names) in directories {
            // A directory that does not exist, or one watch too many, is left to the interval.
            match inotify::add_watch(&inotify, &directory, flags) {
                Ok(watch) => self.names.entry(watch).or_default().extend(names),
                Err(error) => {
                    tracing::debug!(directory = %directory.display(), %error, "cannot watch a directory");
                }
            }
        }
        self.inotify = Some(inotify);
    }

    /// Returns when a managed path changed. May be dropped at any time.
    pub(crate) async fn changed(&mut self) {
        let Some(inotify) = &self.inotify else { return std::future::pending().await };
        loop {
            if inotify.readable().await.is_err() {
                return std::future::pending().await;
            }
            if read_events(inotify, &self.names) {
                return;
            }
        }
    }
}

/// Reads what is there. Returns whether one of it matters.
fn read_events(inotify: &pipe::Receiver, names: &BTreeMap<i32, BTreeSet<OsString>>) -> bool {
    let mut buffer = [0; 4096];
    let mut matters = false;
    loop {
        match inotify.try_read(&mut buffer) {
            Ok(count) if count > 0 => {
                matters |= events(&buffer[..count]).any(|(watch, flags, name)| {
                    let is_known = names.get(&watch).is_some_and(|names| names.contains(&name));
                    is_known || flags.contains(ReadFlags::QUEUE_OVERFLOW)
                });
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return matters,
        }
    }
}

/// The events in what inotify wrote: watch, flags and name of each. The kernel writes whole events.
fn events(mut bytes: &[u8]) -> impl Iterator<Item = (i32, ReadFlags, OsString)> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_first_chunk::<16>()?;
        let number = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (name, rest) = rest.split_at_checked(number(12) as usize)?;
        bytes = rest;
        let name: Vec<u8> = name.iter().copied().take_while(|byte| *byte != 0).collect();
        Some((number(0).cast_signed(), ReadFlags::from_bits_retain(number(4)), OsString::from_vec(name)))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    fn of(directory: &Path, name: &str) -> BTreeMap<PathBuf, BTreeSet<OsString>> {
        BTreeMap::from([(directory.to_owned(), BTreeSet::from([name.into()]))])
    }

    #[tokio::test]
    async fn changes_of_managed_paths_are_noticed_and_others_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("managed");
        let mut watcher = Watcher::default();
        watcher.watch(of(directory.path(), "managed"));
        for change in 0..4 {
            fs::write(directory.path().join("other"), "x").unwrap();
            match change {
                0 | 1 => fs::write(&path, change.to_string()).unwrap(),
                2 => fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap(),
                _ => fs::remove_file(&path).unwrap(),
            }
            timeout(Duration::from_secs(10), watcher.changed()).await.expect("the change is noticed");
        }
        fs::write(directory.path().join("other"), "y").unwrap();
        assert!(!read_events(watcher.inotify.as_ref().unwrap(), &watcher.names));
    }

    #[tokio::test]
    async fn a_directory_that_does_not_exist_is_left_to_the_interval() {
        let mut watcher = Watcher::default();
        watcher.watch(of(Path::new("/does/not/exist"), "x"));
        assert!(watcher.names.is_empty());
    }
}
