//! The agent's own files in its state directory, each replaced in one step.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use windlass_core::host::BlobDigest;

use super::error::HostError;
use super::step_hook::StepHook;

/// How long the agent waits for the lock. A command that another thread starts holds all open files for a moment, also the
/// lock that this thread has just released.
const LOCK_WAIT: Duration = Duration::from_millis(500);

/// The state directory of the agent. Only the agent's user can read it: saved files may contain secrets.
#[derive(Debug)]
pub(crate) struct StateDirectory {
    path: PathBuf,
    steps: StepHook,
}

/// Held while the agent changes the host.
#[derive(Debug)]
pub(crate) struct StateLock {
    _file: File,
}

impl StateDirectory {
    /// Creates the directory if it does not exist.
    pub(crate) fn open(path: &Path, steps: StepHook) -> Result<StateDirectory, HostError> {
        let directory = StateDirectory { path: path.to_owned(), steps };
        let previous = directory.path.join("previous");
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&previous);
        made.map_err(|error| HostError::io("create", shown(&previous), error))?;
        Ok(directory)
    }

    /// Keeps other agents from working with this directory.
    pub(crate) fn lock(&self) -> Result<StateLock, HostError> {
        let path = self.path.join("lock");
        let failed = |error: io::Error| HostError::io("open", shown(&path), error);
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(failed)?;
        let end = Instant::now() + LOCK_WAIT;
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(StateLock { _file: file }),
                Err(Errno::WOULDBLOCK) if Instant::now() < end => thread::sleep(Duration::from_millis(5)),
                Err(Errno::WOULDBLOCK) => return Err(HostError::Locked { path: shown(&self.path) }),
                Err(error) => return Err(failed(error.into())),
            }
        }
    }

    /// The path of a file in the directory, for messages.
    pub(crate) fn shown_path(&self, name: &str) -> String {
        shown(&self.path.join(name))
    }

    /// The content of a file; `None` if it does not exist.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, HostError> {
        match fs::read(self.path.join(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(HostError::io("read", self.shown_path(name), error)),
        }
    }

    /// Replaces a file.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), HostError> {
        self.steps.reached("before writing the state");
        let mut source = bytes;
        self.write_temporary(&mut source, name).and_then(|temporary| self.put_in_place(&temporary, name))?;
        self.steps.reached("after writing the state");
        Ok(())
    }

    /// Saves the content of a file of the host. Returns its digest, under which [`StateDirectory::open_saved`] finds it.
    pub(crate) fn save(&self, content: &mut File, path: &str) -> Result<BlobDigest, HostError> {
        let mut hashing = HashingReader { file: content, hasher: blake3::Hasher::new() };
        let temporary = self.write_temporary(&mut hashing, path)?;
        let digest = BlobDigest::from_hasher(&hashing.hasher);
        self.put_in_place(&temporary, &saved_name(&digest))?;
        self.steps.reached("after saving the previous content");
        Ok(digest)
    }

    /// Opens the saved content of a file of the host.
    pub(crate) fn open_saved(&self, digest: &BlobDigest) -> Result<File, HostError> {
        let path = self.path.join(saved_name(digest));
        File::open(&path).map_err(|error| HostError::io("open", shown(&path), error))
    }

    /// Deletes saved contents that nothing needs any more.
    pub(crate) fn delete_saved_unless(&self, is_needed: impl Fn(&str) -> bool) -> Result<(), HostError> {
        let directory = self.path.join("previous");
        let failed = |error: io::Error| HostError::io("clean", shown(&directory), error);
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !is_needed(&entry.file_name().to_string_lossy()) {
                fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Writes a temporary file. One name is enough, because the lock admits one writer.
    fn write_temporary(&self, source: &mut dyn Read, named: &str) -> Result<PathBuf, HostError> {
        let path = self.path.join("new.tmp");
        let failed = |error: io::Error| HostError::io("save", format!("{} ({named})", shown(&path)), error);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        let mut file = file.map_err(failed)?;
        let written = io::copy(source, &mut file).and_then(|_| file.flush()).and_then(|()| file.sync_all());
        if written.is_err() {
            // On a full disk, what was written of a large file must not stay.
            let _ = fs::remove_file(&path);
        }
        written.map_err(failed)?;
        self.steps.reached("before renaming in the state directory");
        Ok(path)
    }

    fn put_in_place(&self, temporary: &Path, name: &str) -> Result<(), HostError> {
        let path = self.path.join(name);
        let failed = |error: io::Error| HostError::io("write", shown(&path), error);
        fs::rename(temporary, &path).map_err(failed)?;
        let directory = path.parent().unwrap_or(&self.path);
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)
    }
}

struct HashingReader<'f> {
    file: &'f mut File,
    hasher: blake3::Hasher,
}

impl Read for HashingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

/// `previous/` and the hex digits of the digest.
fn saved_name(digest: &BlobDigest) -> String {
    let digest = digest.to_string();
    format!("previous/{}", digest.strip_prefix("blake3:").unwrap_or(&digest))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
