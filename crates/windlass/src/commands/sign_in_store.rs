//! Where sign-ins are kept: one file, readable by its owner alone, one entry per server and one of them current.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::redacted::Redacted;

use crate::exit::CommandError;

const FILE: &str = "credentials.json";

/// Every sign-in that is kept.
#[derive(Default, Deserialize, Serialize)]
pub(super) struct Credentials {
    /// The server that is asked when none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) current: Option<String>,
    #[serde(default)]
    servers: BTreeMap<String, StoredSignIn>,
}

#[derive(Deserialize, Serialize)]
struct StoredSignIn {
    token: String,
    #[serde(default)]
    email: String,
    #[serde(default)]
    account: String,
    #[serde(default)]
    expires_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ca_file: Option<PathBuf>,
}

/// A sign-in to keep.
pub(super) struct NewSignIn<'s> {
    pub(super) server: &'s str,
    pub(super) token: &'s Redacted<String>,
    pub(super) email: &'s str,
    pub(super) account: &'s str,
    pub(super) expires_at: &'s str,
    /// The private authority of the server's certificate.
    pub(super) ca_file: Option<&'s Path>,
}

impl Credentials {
    /// Reads the file; none is the same as an empty one.
    pub(super) fn load() -> Result<Credentials, CommandError> {
        let path = directory()?.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Credentials::default()),
            Err(error) => return Err(file_error(&path, "read", error)),
        };
        // The cause is left out: it could quote a token.
        serde_json::from_str(&text).map_err(|_| {
            let message = format!("{} is not a valid credentials file", path.display());
            CommandError::failed(message, "delete it and sign in again")
        })
    }

    /// The token for a server.
    pub(super) fn token(&self, server: &str) -> Option<Redacted<String>> {
        self.servers.get(server).map(|stored| Redacted::new(stored.token.clone()))
    }

    /// The private authority of a server's certificate.
    pub(super) fn ca_file(&self, server: &str) -> Option<PathBuf> {
        self.servers.get(server).and_then(|stored| stored.ca_file.clone())
    }

    /// Remembers a sign-in and makes its server the current one.
    pub(super) fn remember(&mut self, sign_in: &NewSignIn<'_>) {
        let stored = StoredSignIn {
            token: sign_in.token.expose().clone(),
            email: sign_in.email.to_owned(),
            account: sign_in.account.to_owned(),
            expires_at: sign_in.expires_at.to_owned(),
            ca_file: sign_in.ca_file.map(Path::to_path_buf),
        };
        self.servers.insert(sign_in.server.to_owned(), stored);
        self.current = Some(sign_in.server.to_owned());
    }

    /// Forgets a sign-in. Another server becomes current only by signing in to it.
    pub(super) fn forget(&mut self, server: &str) {
        self.servers.remove(server);
        if self.current.as_deref() == Some(server) {
            self.current = None;
        }
    }

    /// Writes the file beside itself and then takes its place, so that it is never half written.
    pub(super) fn save(&self) -> Result<(), CommandError> {
        let directory = directory()?;
        let path = directory.join(FILE);
        let fail = |error: std::io::Error| file_error(&path, "write", error);
        make_private(&directory).map_err(fail)?;
        let mut file = tempfile::NamedTempFile::new_in(&directory).map_err(fail)?;
        serde_json::to_writer_pretty(&mut file, self).map_err(|error| fail(error.into()))?;
        file.write_all(b"\n").map_err(fail)?;
        // The temporary file was made for its owner alone, and stays so under its new name.
        file.persist(&path).map_err(|error| fail(error.error))?;
        Ok(())
    }
}

fn file_error(path: &Path, doing: &str, error: std::io::Error) -> CommandError {
    let help = "check the file permissions; set XDG_CONFIG_HOME to use another directory, or WINDLASS_TOKEN to use \
        no file";
    CommandError::failed(format!("could not {doing} {}", path.display()), help).because(error)
}

fn directory() -> Result<PathBuf, CommandError> {
    let from =
        |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let configuration = from("XDG_CONFIG_HOME").or_else(|| from("HOME").map(|home| home.join(".config")));
    configuration.map(|directory| directory.join("windlass")).ok_or_else(|| {
        let message = "cannot store the session: neither XDG_CONFIG_HOME nor HOME is set";
        CommandError::failed(message, "set one of them, or use WINDLASS_SERVER and WINDLASS_TOKEN")
    })
}

#[cfg(unix)]
fn make_private(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn make_private(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)
}
