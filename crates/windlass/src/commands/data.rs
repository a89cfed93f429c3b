//! A server's data on its own machine: its database and its secret key.

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
            CommandError::told(error.to_string(), "write postgres://user@host/name, or the path of a file")
        }),
        None => Ok(Address::Sqlite(data.data_dir.join("windlass.db"))),
    }
}

pub(super) fn store_error(error: &StoreError) -> CommandError {
    CommandError::told(error.to_string(), "check --data-dir and --database")
}

/// An existing database: looking after one never makes one.
pub(super) async fn open_existing(address: &Address) -> Result<Store, CommandError> {
    if let Address::Sqlite(path) = address
        && !path.exists()
    {
        let message = format!("there is no database at {}", path.display());
        return Err(CommandError::told(message, "check --data-dir and --database"));
    }
    Store::open(address).await.map_err(|error| store_error(&error))
}

/// Where the options and the environment say the secret key is.
pub(super) fn source_of(options: &KeyOptions) -> Result<KeySource, CommandError> {
    let given = std::env::var("WINDLASS_SECRET_KEY").ok().filter(|text| !text.is_empty());
    match (given, &options.secret_key_file) {
        (Some(_), Some(_)) => Err(CommandError::usage(
            "the secret key is given twice",
            "give --secret-key-file (also WINDLASS_SECRET_KEY_FILE) or WINDLASS_SECRET_KEY, not both",
        )),
        (Some(text), None) => Ok(KeySource::Given(Redacted::new(text))),
        (None, Some(path)) => Ok(KeySource::File(path.clone())),
        (None, None) => Ok(KeySource::DataDirectory),
    }
}

pub(super) fn key_error(error: &KeyError) -> CommandError {
    CommandError::told(error.to_string(), error.help())
}
