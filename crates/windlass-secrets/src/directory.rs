//! Credentials in files below a directory.
//!
//! A credential is a directory with one file per key, as Kubernetes and systemd mount secrets, or one JSON file of
//! texts named `PATH.json`.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use windlass_core::redacted::Redacted;

use crate::credential_fields::{ACCOUNT, CredentialFields};
use crate::error::SecretError;

/// Larger than any key.
const MAX_BYTES: u64 = 64 * 1024;

/// A directory of credentials.
#[derive(Clone, Debug)]
pub struct CredentialDirectory {
    root: PathBuf,
}

impl CredentialDirectory {
    /// The credentials below this directory. `{account}` in it stands for the account's name.
    pub fn new(root: impl Into<PathBuf>) -> CredentialDirectory {
        CredentialDirectory { root: root.into() }
    }

    /// The fields of the credential at a path, for an account.
    pub fn read(&self, account: &str, path: &str) -> Result<CredentialFields, SecretError> {
        let root = self.root_of(account).filter(|_| path.split('/').all(is_path_component));
        let root = root.ok_or_else(|| SecretError::BadPath { path: path.to_owned() })?;
        let at = root.join(path);
        let unreadable = |error: std::io::Error| SecretError::Unreadable {
            path: path.to_owned(),
            reason: error.kind().to_string(),
        };
        if at.is_dir() {
            return read_files(&at).map_err(unreadable);
        }
        let file = root.join(format!("{path}.json"));
        match read_file(&file) {
            Ok(text) => read_json(text.expose()).ok_or_else(|| SecretError::Unreadable {
                path: path.to_owned(),
                reason: "it is not a JSON object with text values".to_owned(),
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(SecretError::Missing { path: path.to_owned() })
            }
            Err(error) => Err(unreadable(error)),
        }
    }

    /// Whether each account has a directory of its own.
    pub(crate) fn is_split_by_account(&self) -> bool {
        self.root.to_str().is_some_and(|root| root.contains(ACCOUNT))
    }

    /// The directory of an account's credentials; `None` if the account's name cannot be the name of a directory.
    fn root_of(&self, account: &str) -> Option<PathBuf> {
        let Some(root) = self.root.to_str().filter(|root| root.contains(ACCOUNT)) else {
            return Some(self.root.clone());
        };
        (is_path_component(account) && !account.contains('/'))
            .then(|| PathBuf::from(root.replace(ACCOUNT, account)))
    }
}

/// Whether a text is a safe path component: it names something directly below its parent.
fn is_path_component(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', '\0'])
}

fn read_files(directory: &Path) -> std::io::Result<CredentialFields> {
    let mut fields = CredentialFields::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().filter(|name| !name.starts_with('.')).map(str::to_owned)
        else {
            continue;
        };
        if entry.path().is_file() {
            fields.insert(name, read_file(&entry.path())?);
        }
    }
    Ok(fields)
}

/// Reads a file that only its owner and group can read. A file that everyone can read is rejected.
pub(crate) fn read_file(path: &Path) -> std::io::Result<Redacted<String>> {
    let metadata = fs::metadata(path)?;
    if metadata.permissions().mode() & 0o007 != 0 {
        return Err(std::io::Error::new(ErrorKind::PermissionDenied, "every user can read it"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, "it is too large"));
    }
    let text = fs::read_to_string(path)?;
    Ok(Redacted::new(text.trim_end_matches(['\r', '\n']).to_owned()))
}

fn read_json(text: &str) -> Option<CredentialFields> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let entries = value.as_object()?.iter().map(|(key, value)| {
        Some((key.clone(), Redacted::new(value.as_str()?.trim_end_matches(['\r', '\n']).to_owned())))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    fn write(path: &Path, text: &str, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_credential_is_a_directory_of_keys_or_a_json_file() {
        let root = tempfile::tempdir().unwrap();
        write(&root.path().join("git/https/username"), "ada\n", 0o600);
        write(&root.path().join("git/https/password"), "hunter2\n", 0o600);
        write(&root.path().join("secret/data/key.json"), r#"{"ssh_key": "-----BEGIN\n"}"#, 0o640);
        let directory = CredentialDirectory::new(root.path());
        let fields = directory.read("acme", "git/https").unwrap();
        assert_eq!(fields["username"].expose(), "ada");
        assert_eq!(fields["password"].expose(), "hunter2");
        assert_eq!(directory.read("acme", "secret/data/key").unwrap()["ssh_key"].expose(), "-----BEGIN");
    }

    #[test]
    fn an_account_reads_only_below_its_own_directory() {
        let root = tempfile::tempdir().unwrap();
        write(&root.path().join("acme/git.json"), r#"{"password": "a"}"#, 0o600);
        write(&root.path().join("other/git.json"), r#"{"password": "b"}"#, 0o600);
        let directory = CredentialDirectory::new(root.path().join(ACCOUNT));
        assert_eq!(directory.read("acme", "git").unwrap()["password"].expose(), "a");
        assert_eq!(directory.read("other", "git").unwrap()["password"].expose(), "b");
        assert_eq!(directory.read("acme", "other/git").unwrap_err().code(), "credential-missing");
        for (account, path) in
            [("acme", "../other/git"), ("..", "acme/git"), ("acme/..", "other/git"), ("", "acme/git")]
        {
            assert_eq!(
                directory.read(account, path).unwrap_err().code(),
                "credential-path",
                "{account} {path}"
            );
        }
    }

    #[test]
    fn what_cannot_be_had_is_a_precise_error_without_the_secret() {
        let root = tempfile::tempdir().unwrap();
        write(&root.path().join("open.json"), r#"{"password": "hunter2"}"#, 0o644);
        write(&root.path().join("list.json"), r#"["hunter2"]"#, 0o600);
        let directory = CredentialDirectory::new(root.path());
        for (path, code) in [
            ("absent", "credential-missing"),
            ("../etc/passwd", "credential-path"),
            ("/etc/passwd", "credential-path"),
            ("", "credential-path"),
            ("open", "credential-unreadable"),
            ("list", "credential-unreadable"),
        ] {
            let error = directory.read("acme", path).unwrap_err();
            assert_eq!(error.code(), code, "{path}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{path}");
        }
    }
}
