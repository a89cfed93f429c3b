//! JSON files that are replaced in one step, checked by digest, and kept with the version before.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::host::BlobDigest;

use super::StateError;
use crate::surroundings::DiskHooks;

/// What a file contains.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stored<T> {
    /// The file does not exist.
    Nothing,
    /// The newest version.
    Newest(T),
    /// The newest version is damaged; this is the one before it.
    VersionBefore(T),
    /// Every version is damaged. The agent must not take this for an empty file.
    Damaged(String),
}

/// The files of a state directory. Only the agent's user can read them: one of them has the private key.
#[derive(Clone, Debug)]
pub(crate) struct StateFiles {
    directory: PathBuf,
    hooks: DiskHooks,
}

impl StateFiles {
    /// Creates the directory if it does not exist.
    pub(crate) fn open(directory: &Path, hooks: DiskHooks) -> Result<StateFiles, StateError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(|error| StateError::io("create", directory, error))?;
        Ok(StateFiles { directory: directory.to_owned(), hooks })
    }

    /// The path of a file or a directory in the state directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Reads a file.
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Stored<T>, StateError> {
        let mut problem = None;
        // A crash between the two renames of a write leaves the newest version under `.new`.
        let newest = match self.read_version(name)? {
            Version::Missing => self.read_version(&format!("{name}.new"))?,
            version => version,
        };
        match newest {
            Version::Whole(value) => return Ok(Stored::Newest(value)),
            Version::Damaged(what) => problem = Some(what),
            Version::Missing => {}
        }
        match self.read_version(&format!("{name}.previous"))? {
            Version::Whole(value) => Ok(Stored::VersionBefore(value)),
            Version::Damaged(what) => Ok(Stored::Damaged(problem.unwrap_or(what))),
            Version::Missing => Ok(problem.map_or(Stored::Nothing, Stored::Damaged)),
        }
    }

    fn read_version<T: DeserializeOwned>(&self, name: &str) -> Result<Version<T>, StateError> {
        let path = self.path(name);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Version::Missing),
            Err(error) => return Err(StateError::io("read", &path, error)),
        };
        let damaged = |what: &str| Version::Damaged(format!("{} is damaged: {what}", path.display()));
        let Some(at) = bytes.iter().position(|byte| *byte == b'\n') else {
            return Ok(damaged("it has no digest"));
        };
        let (digest, content) = (&bytes[..at], &bytes[at + 1..]);
        if BlobDigest::of(content).to_string().as_bytes() != digest {
            return Ok(damaged("its content does not match its digest"));
        }
        Ok(match serde_json::from_slice(content) {
            Ok(value) => Version::Whole(value),
            Err(error) => damaged(&error.to_string()),
        })
    }

    /// Replaces a file, and keeps the version before.
    pub(crate) fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), StateError> {
        let content = serde_json::to_vec(value).expect("a state file is JSON");
        let mut bytes = BlobDigest::of(&content).to_string().into_bytes();
        bytes.push(b'\n');
        bytes.extend_from_slice(&content);
        let (path, new) = (self.path(name), self.path(&format!("{name}.new")));
        self.hooks.before_write(name).map_err(|error| StateError::io("write", &path, error))?;
        self.hooks.reached(&format!("before writing {name}"));
        write_synced(&new, &bytes).map_err(|error| StateError::io("write", &path, error))?;
        self.hooks.reached(&format!("before putting {name} in place"));
        match fs::rename(&path, self.path(&format!("{name}.previous"))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StateError::io("keep the version before of", &path, error));
            }
            _ => {}
        }
        self.hooks.reached(&format!("between the renames of {name}"));
        let renamed = fs::rename(&new, &path);
        let synced = renamed.and_then(|()| File::open(&self.directory)?.sync_all());
        synced.map_err(|error| StateError::io("write", &path, error))?;
        self.hooks.reached(&format!("after writing {name}"));
        Ok(())
    }

    /// Deletes a file with every version of it.
    pub(crate) fn delete(&self, name: &str) -> Result<(), StateError> {
        for version in [format!("{name}.previous"), format!("{name}.new"), name.to_owned()] {
            let path = self.path(&version);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StateError::io("delete", &path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

enum Version<T> {
    Missing,
    Whole(T),
    Damaged(String),
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Value = BTreeMap<String, u64>;

    fn value(number: u64) -> Value {
        Value::from([("number".to_owned(), number)])
    }

    fn files() -> (tempfile::TempDir, StateFiles) {
        let directory = tempfile::tempdir().unwrap();
        let files = StateFiles::open(&directory.path().join("state"), DiskHooks::default()).unwrap();
        (directory, files)
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let (_directory, files) = files();
        assert_eq!(files.read::<Value>("a").unwrap(), Stored::Nothing);
        files.write("a", &value(1)).unwrap();
        files.write("a", &value(2)).unwrap();
        assert_eq!(files.read::<Value>("a").unwrap(), Stored::Newest(value(2)));
        files.delete("a").unwrap();
        assert_eq!(files.read::<Value>("a").unwrap(), Stored::Nothing);
    }

    #[test]
    fn a_torn_file_gives_the_version_before_and_two_torn_files_are_damaged() {
        let (_directory, files) = files();
        files.write("a", &value(1)).unwrap();
        files.write("a", &value(2)).unwrap();
        let whole = fs::read(files.path("a")).unwrap();
        for length in 0..whole.len() {
            fs::write(files.path("a"), &whole[..length]).unwrap();
            assert_eq!(files.read::<Value>("a").unwrap(), Stored::VersionBefore(value(1)), "{length} bytes");
        }
        fs::write(files.path("a.previous"), b"").unwrap();
        assert!(matches!(files.read::<Value>("a").unwrap(), Stored::Damaged(_)));
        fs::remove_file(files.path("a.previous")).unwrap();
        assert!(matches!(files.read::<Value>("a").unwrap(), Stored::Damaged(_)), "not an empty file");
    }

    #[test]
    fn a_crash_between_the_renames_loses_nothing() {
        let (_directory, files) = files();
        files.write("a", &value(1)).unwrap();
        files.write("b", &value(2)).unwrap();
        fs::rename(files.path("a"), files.path("a.previous")).unwrap();
        fs::rename(files.path("b"), files.path("a.new")).unwrap();
        assert_eq!(files.read::<Value>("a").unwrap(), Stored::Newest(value(2)));
    }
}
