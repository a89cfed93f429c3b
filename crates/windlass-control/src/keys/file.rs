//! The file with the secret key: private, created atomically, never half-written.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use windlass_core::redacted::Redacted;
use windlass_store::unique_text;

use crate::keys::error::KeyError;
use crate::keys::{self, KeySource, Keyring};

/// How many bytes of a key file are read.
const MAX_BYTES: u64 = 8 * 1024;

/// Reads the keys of a source. None if the data directory has none yet.
pub(crate) fn read(source: &KeySource, data_dir: &Path) -> Result<Option<Keyring>, KeyError> {
    let (path, place) = match source {
        KeySource::Given(text) => {
            return parse(text.expose(), "WINDLASS_SECRET_KEY").map(Some);
        }
        KeySource::File(path) => (path.clone(), path.display().to_string()),
        KeySource::DataDirectory => {
            let path = data_dir.join(keys::FILE);
            let place = path.display().to_string();
            (path, place)
        }
    };
    let is_ours = matches!(source, KeySource::DataDirectory);
    match open_private(&path, if is_ours { FileOwner::Ours } else { FileOwner::Operator }) {
        Ok(file) => {
            let mut text = String::new();
            let read = file.take(MAX_BYTES).read_to_string(&mut text);
            let text = Redacted::new(text);
            read.map_err(|source| KeyError::File { path, source })?;
            parse(text.expose(), &place).map(Some)
        }
        Err(KeyError::File { source, .. }) if is_ours && source.kind() == ErrorKind::NotFound => Ok(None),
        Err(KeyError::File { path, source }) if source.kind() == ErrorKind::NotFound => {
            Err(KeyError::NoFile { path })
        }
        Err(error) => Err(error),
    }
}

fn parse(text: &str, place: &str) -> Result<Keyring, KeyError> {
    Keyring::parse(text).map_err(|reason| KeyError::Unreadable { place: place.to_owned(), reason })
}

/// Who created a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileOwner {
    /// Windlass, as a private regular file. A link or further permissions mean that someone else changed it.
    Ours,
    /// The operator. Secrets that Kubernetes mounts are links, and readable by a group.
    Operator,
}

fn open_private(path: &Path, owner: FileOwner) -> Result<File, KeyError> {
    let failed = |source| KeyError::File { path: path.to_path_buf(), source };
    let named = match owner {
        FileOwner::Ours => fs::symlink_metadata(path),
        FileOwner::Operator => fs::metadata(path),
    };
    let named = named.map_err(failed)?;
    if !named.is_file() {
        return Err(KeyError::NotPlain { path: path.to_path_buf() });
    }
    let file = File::open(path).map_err(failed)?;
    let opened = file.metadata().map_err(failed)?;
    // The opened file must be the checked one: nobody put a link there in between.
    if (opened.dev(), opened.ino()) != (named.dev(), named.ino()) {
        return Err(KeyError::NotPlain { path: path.to_path_buf() });
    }
    let forbidden_bits = match owner {
        FileOwner::Ours => 0o077,
        FileOwner::Operator => 0o037,
    };
    let mode = opened.permissions().mode() & 0o777;
    if mode & forbidden_bits != 0 {
        return Err(KeyError::Exposed { path: path.to_path_buf(), mode });
    }
    Ok(file)
}

/// Creates the file atomically with its content. False if it exists already.
pub(crate) fn create(path: &Path, keys: &Keyring) -> Result<bool, KeyError> {
    let failed = |source| KeyError::File { path: path.to_path_buf(), source };
    let partial = write_beside(path, keys).map_err(failed)?;
    let linked = fs::hard_link(&partial, path);
    let _ = fs::remove_file(&partial);
    match linked {
        Ok(()) => sync_directory(path).map(|()| true).map_err(failed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

/// Replaces the keys in the file.
pub(crate) fn replace(path: &Path, keys: &Keyring) -> Result<(), KeyError> {
    let failed = |source| KeyError::File { path: path.to_path_buf(), source };
    let partial = write_beside(path, keys).map_err(failed)?;
    fs::rename(&partial, path).and_then(|()| sync_directory(path)).map_err(failed)
}

fn write_beside(path: &Path, keys: &Keyring) -> std::io::Result<std::path::PathBuf> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.partial", unique_text()));
    let partial = std::path::PathBuf::from(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
    file.write_all(keys.text().expose().as_bytes())?;
    file.sync_all()?;
    Ok(partial)
}

fn sync_directory(path: &Path) -> std::io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use super::*;
    use crate::keys::SecretKey;

    #[test]
    fn a_key_file_is_created_once_and_private_and_rejected_if_others_can_read_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(keys::FILE);
        let read = || super::read(&KeySource::DataDirectory, directory.path());
        assert!(read().unwrap().is_none());
        let keys = Keyring::new(SecretKey::random());
        assert!(create(&path, &keys).unwrap());
        assert!(!create(&path, &Keyring::new(SecretKey::random())).unwrap(), "never overwritten");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
        assert_eq!(read().unwrap().unwrap().signing_key(), keys.signing_key());
        for mode in [0o640, 0o604, 0o660] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(read(), Err(KeyError::Exposed { .. })), "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let elsewhere = directory.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(matches!(read(), Err(KeyError::NotPlain { .. })));
        let given = KeySource::File(path);
        assert!(super::read(&given, directory.path()).is_ok(), "a mounted secret may be a link");
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(super::read(&given, directory.path()), Err(KeyError::Exposed { .. })));
    }
}
