//! A server's data on its own machine: its database and its secret key.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use windlass_core::redacted::Redacted;
use windlass_server::{KeyError, KeySource};
use windlass_store::{Address, Store, StoreError};

use crate::args::data::DataOptions;
use crate::args::keys::KeyOptions;
use crate::exit::CommandError;

/// The database that the options name.
pub(super) fn address_of(data: &DataOptions) -> Result<Address, CommandError> {
    match &data.database {
        Some(text) => Address::parse(text).map_err(|error| {
            CommandError::failed(error.to_string(), "write postgres://user@host/name, or the path of a file")
                .because(error)
        }),
        None => Ok(Address::Sqlite(data.data_dir.join("windlass.db"))),
    }
}

pub(super) fn store_error(error: StoreError) -> CommandError {
    let help = match &error {
        StoreError::Migrate(error) => error.help(),
        _ => "check --data-dir and --database",
    };
    CommandError::failed(error.to_string(), help).because(error)
}

/// Refuses to go on without a database: looking after one never makes one.
pub(super) fn require_existing(address: &Address) -> Result<(), CommandError> {
    match address {
        Address::Sqlite(path) if !path.exists() => {
            let message = format!("there is no database at {}", path.display());
            Err(CommandError::failed(message, "check --data-dir and --database"))
        }
        _ => Ok(()),
    }
}

/// An existing database.
pub(super) async fn open_existing(address: &Address) -> Result<Store, CommandError> {
    require_existing(address)?;
    Store::open(address).await.map_err(store_error)
}

/// Keeps servers away from an embedded database for as long as the files are held. Refuses while a server uses it. Servers
/// on PostgreSQL cannot be kept away like this.
pub(super) fn lock_embedded(data: &DataOptions, address: &Address) -> Result<Vec<File>, CommandError> {
    let Address::Sqlite(database) = address else { return Ok(Vec::new()) };
    // A server locks its data directory, wherever its database is.
    let beside = database.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directories: BTreeSet<PathBuf> =
        [data.data_dir.as_path(), beside].iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut locks = Vec::new();
    for directory in directories {
        let lock = windlass_server::open_lock(&directory).map_err(|error| {
            let message = format!("cannot lock {}: {error}", directory.display());
            CommandError::failed(message, "run this command as the server's user")
        })?;
        if lock.try_lock().is_err() {
            return Err(CommandError::failed("a running server uses this data", "stop it first"));
        }
        locks.push(lock);
    }
    Ok(locks)
}

/// Where the options and the environment say the secret key is.
pub(super) fn source_of(options: &KeyOptions) -> Result<KeySource, CommandError> {
    let given = std::env::var("WINDLASS_SECRET_KEY").ok().filter(|text| !text.is_empty());
    match (given, &options.secret_key_file) {
        (Some(_), Some(_)) => Err(CommandError::usage(
            "two secret keys are given",
            "give --secret-key-file (also WINDLASS_SECRET_KEY_FILE) or WINDLASS_SECRET_KEY, not both",
        )),
        (Some(text), None) => Ok(KeySource::Given(Redacted::new(text))),
        (None, Some(path)) => Ok(KeySource::File(path.clone())),
        (None, None) => Ok(KeySource::DataDirectory),
    }
}

pub(super) fn key_error(error: KeyError) -> CommandError {
    CommandError::failed(error.to_string(), error.help()).because(error)
}
