//! What the supervisor keeps about each service: a file in its directory. It is the only memory that matters, so that an agent
//! that starts again, or a second one, knows everything.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::process::ProcessId;
use crate::target::host::error::HostError;

/// The largest log of a service. A second file of this size has what was before.
const MAX_LOG: u64 = 1024 * 1024;

/// Whether a service should run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Wanted {
    Running,
    #[default]
    Stopped,
}

/// What runs for a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Running {
    /// Nothing.
    #[default]
    Nothing,
    /// A process.
    Process(ProcessId),
    /// Nothing, and that is how it should be: its command did its work.
    Done,
    /// What a script started.
    Script,
}

/// What is known about a service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ServiceRecord {
    pub(super) wanted: Wanted,
    /// Whether it starts with the host.
    pub(super) enabled: bool,
    pub(super) running: Running,
    /// The boot that `running` is about.
    pub(super) boot: String,
}

/// The directory of the supervisor.
#[derive(Clone, Debug)]
pub(super) struct RecordDirectory(PathBuf);

/// Held while a service changes.
#[derive(Debug)]
pub(super) struct RecordLock {
    _file: File,
}

impl RecordDirectory {
    /// Only the agent's user can read it: logs may contain secrets.
    pub(super) fn open(path: &Path) -> Result<RecordDirectory, HostError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|error| HostError::io("create", path.display().to_string(), error))?;
        Ok(RecordDirectory(path.to_owned()))
    }

    fn failed(&self, action: &'static str, name: &str) -> impl Fn(io::Error) -> HostError + use<> {
        let path = self.0.join(name).display().to_string();
        move |error| HostError::io(action, path.clone(), error)
    }

    fn open_lock(&self, name: &str) -> Result<File, HostError> {
        let file =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(self.0.join(name));
        file.map_err(self.failed("open", name))
    }

    /// Waits until no other thread or agent changes a service.
    pub(super) fn lock(&self) -> Result<RecordLock, HostError> {
        let file = self.open_lock("lock")?;
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| self.failed("lock", "lock")(error.into()))?;
        Ok(RecordLock { _file: file })
    }

    /// The right to restart services that ended; `None` while another thread or agent has it.
    pub(super) fn try_watch(&self) -> Option<RecordLock> {
        let file = self.open_lock("watch").ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok().map(|()| RecordLock { _file: file })
    }

    /// The services that are known.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect()
    }

    /// What is known about a service.
    pub(super) fn read(&self, name: &str) -> Result<ServiceRecord, HostError> {
        let file = format!("{name}.json");
        let bytes = match fs::read(self.0.join(&file)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ServiceRecord::default()),
            Err(error) => return Err(self.failed("read", &file)(error)),
        };
        serde_json::from_slice(&bytes).map_err(|error| HostError::StateUnreadable {
            path: self.0.join(&file).display().to_string(),
            problem: error.to_string(),
        })
    }

    pub(super) fn write(&self, name: &str, record: &ServiceRecord) -> Result<(), HostError> {
        let (file, temporary) = (format!("{name}.json"), format!("{name}.new"));
        let failed = self.failed("write", &file);
        let bytes = serde_json::to_vec(record).expect("a record is JSON");
        let mut new = File::create(self.0.join(&temporary)).map_err(&failed)?;
        new.write_all(&bytes).and_then(|()| new.sync_all()).map_err(&failed)?;
        fs::rename(self.0.join(temporary), self.0.join(file)).map_err(failed)
    }

    pub(super) fn log_path(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.log"))
    }

    /// The log of a service, open for its output. It stays open when the agent ends, so it is a file and no pipe.
    pub(super) fn open_log(&self, name: &str) -> Result<File, HostError> {
        self.limit_log(name);
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(self.log_path(name));
        file.map_err(self.failed("open", &format!("{name}.log")))
    }

    /// Moves a log that has become too large aside. The service goes on writing at the beginning.
    pub(super) fn limit_log(&self, name: &str) {
        let path = self.log_path(name);
        if fs::metadata(&path).map_or(0, |found| found.len()) <= MAX_LOG {
            return;
        }
        let moved = last_bytes(&path, MAX_LOG)
            .and_then(|last| fs::write(path.with_extension("log.1"), last))
            .and_then(|()| OpenOptions::new().write(true).open(&path)?.set_len(0));
        if let Err(error) = moved {
            tracing::warn!(service = name, %error, "cannot shorten the log of the service");
        }
    }
}

/// The end of a file.
pub(super) fn last_bytes(path: &Path, count: u64) -> io::Result<Vec<u8>> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(count)))?;
    let mut bytes = Vec::new();
    file.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_stays_small_while_the_service_writes() {
        let directory = tempfile::TempDir::new().unwrap();
        let records = RecordDirectory::open(directory.path()).unwrap();
        let mut log = records.open_log("a").unwrap();
        let line = vec![b'x'; 512 * 1024];
        for _ in 0..8 {
            log.write_all(&line).unwrap();
            records.limit_log("a");
        }
        let sizes: Vec<u64> =
            fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).collect();
        assert!(sizes.iter().sum::<u64>() <= 3 * MAX_LOG, "{sizes:?}");
    }

    #[test]
    fn one_agent_watches() {
        let directory = tempfile::TempDir::new().unwrap();
        let records = RecordDirectory::open(directory.path()).unwrap();
        let watch = records.try_watch().unwrap();
        assert!(records.try_watch().is_none());
        drop(watch);
        // A program that another test starts holds all open files for a moment.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while records.try_watch().is_none() {
            assert!(std::time::Instant::now() < end);
        }
    }
}
