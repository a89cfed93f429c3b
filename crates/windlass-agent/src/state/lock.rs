//! One agent works with a state directory at a time.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::StateError;

/// How long the agent waits for the lock. A command that another thread starts holds all open files for a moment, also the
/// lock that this process has just released.
const LOCK_WAIT: Duration = Duration::from_millis(500);

/// Held while an agent works with its state directory.
#[derive(Debug)]
pub(crate) struct AgentLock {
    _file: File,
}

impl AgentLock {
    /// Takes the lock of a directory that exists.
    pub(crate) fn take(directory: &Path) -> Result<AgentLock, StateError> {
        let path = directory.join("lock");
        let failed = |error: std::io::Error| StateError::io("open", &path, error);
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(failed)?;
        let end = Instant::now() + LOCK_WAIT;
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(AgentLock { _file: file }),
                Err(Errno::WOULDBLOCK) if Instant::now() < end => thread::sleep(Duration::from_millis(5)),
                Err(Errno::WOULDBLOCK) => {
                    return Err(StateError::Locked { path: directory.display().to_string() });
                }
                Err(error) => return Err(failed(error.into())),
            }
        }
    }
}
