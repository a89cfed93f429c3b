//! Rotating, replacing and checking the secret key, on the server's machine.

use std::path::Path;
use std::time::Duration;

use windlass_core::access::{KeyAdmission, admit_key};
use windlass_core::redacted::Redacted;
use windlass_core::time::Timestamp;
use windlass_store::Store;

use crate::clock::now;
use crate::keys::admit::replace_known;
use crate::keys::error::KeyError;
use crate::keys::signing::Signer;
use crate::keys::{self, FINGERPRINT, KeySource, Keyring, OLD_SETTING, SecretKey, file};

/// A key that replaced another.
#[derive(Clone, Debug)]
pub struct RotatedKey {
    /// Its fingerprint.
    pub fingerprint: String,
    /// Until when the previous key is accepted.
    pub until: Timestamp,
    /// The text for servers that get their key from the environment.
    pub text: Option<Redacted<String>>,
}

/// Creates a new key, and keeps the previous one for the overlap. Servers use the new key from their next start on.
pub fn rotate_key(source: &KeySource, data_dir: &Path, overlap: Duration) -> Result<RotatedKey, KeyError> {
    let missing = || KeyError::NoFile { path: source.path(data_dir).unwrap_or_default() };
    let now = now();
    let keys = file::read(source, data_dir)?.ok_or_else(missing)?.rotated(overlap, now);
    let text = match source.path(data_dir) {
        Some(path) => {
            file::replace(&path, &keys)?;
            None
        }
        None => Some(Redacted::new(keys.text().expose().trim().replace('\n', ","))),
    };
    Ok(RotatedKey { fingerprint: keys.current_key().fingerprint(), until: now.plus(overlap), text })
}

/// Gives an installation whose key is lost a new key, or the one from `source`.
pub async fn reset_key(store: &Store, source: &KeySource, data_dir: &Path) -> Result<String, KeyError> {
    let keys = match source {
        KeySource::DataDirectory => {
            let keys = Keyring::new(SecretKey::random());
            file::replace(&data_dir.join(keys::FILE), &keys)?;
            keys
        }
        given => file::read(given, data_dir)?.ok_or(KeyError::FromEnvironment)?,
    };
    replace_known(store, &keys, now()).await?;
    if store.read().await?.setting(OLD_SETTING).await?.is_some() {
        store.erase_setting(OLD_SETTING).await?;
    }
    Ok(keys.current_key().fingerprint())
}

/// The key pair that signs checkpoints with the key of a source, if there is one.
pub(crate) fn signer_of(source: &KeySource, data_dir: &Path) -> Result<Option<Signer>, KeyError> {
    Ok(file::read(source, data_dir)?.and_then(|keys| keys.current_key().signer()))
}

/// The fingerprint of the key of a source, if there is one.
pub fn fingerprint_of(source: &KeySource, data_dir: &Path) -> Result<Option<String>, KeyError> {
    Ok(file::read(source, data_dir)?.map(|keys| keys.current_key().fingerprint()))
}

/// Whether a server with the key of this source could use a database.
pub async fn check_key(store: &Store, source: &KeySource, data_dir: &Path) -> Result<(), KeyError> {
    let known = store.read().await?.setting(FINGERPRINT).await?;
    let Some(keys) = file::read(source, data_dir)? else {
        return match known {
            Some(known) => Err(KeyError::Missing { path: data_dir.join(keys::FILE), known }),
            None => Ok(()),
        };
    };
    let (here, before) = (keys.current_key().fingerprint(), keys.previous_key().map(SecretKey::fingerprint));
    match admit_key(known.as_deref(), &here, before.as_deref()) {
        KeyAdmission::Foreign => Err(KeyError::Foreign { here, known: known.unwrap_or_default() }),
        _ => Ok(()),
    }
}
