//! At a server's start: finds its key and checks that it is the one that the database is used with.

use std::path::Path;

use serde_json::json;
use windlass_core::access::{KeyAdmission, admit_key};
use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;
use windlass_store::{Actor, AuditKey, Store};

use crate::keys::error::KeyError;
use crate::keys::signing::{self, follows_message};
use crate::keys::{self, FINGERPRINT, KeySource, Keyring, OLD_SETTING, SecretKey, file};
use crate::record;

/// The keys of this server, if the database is used with them. Creates them at the first start; moves the key of an earlier
/// version's database out of that database.
pub async fn take_keys(
    store: &Store,
    source: &KeySource,
    data_dir: &Path,
    now: Timestamp,
) -> Result<Keyring, KeyError> {
    let mut reading = store.read().await?;
    let known = reading.setting(FINGERPRINT).await?;
    let held = reading.setting(OLD_SETTING).await?;
    drop(reading);
    let found = file::read(source, data_dir)?;
    let is_new = found.is_none();
    let keys = match found {
        Some(keys) => keys,
        None => make(data_dir, known.as_deref(), held.as_deref())?,
    };
    if let Some(held) = &held {
        let is_held = |key: &SecretKey| key.bytes() == held.as_bytes();
        if !is_held(keys.current_key()) && !keys.previous_key().is_some_and(is_held) {
            return Err(KeyError::Held);
        }
    }
    if let Err(error) = admit(store, &keys, now).await {
        if is_new && let Some(path) = source.path(data_dir) {
            // The file was just created and its key never used.
            let _ = std::fs::remove_file(path);
        }
        return Err(error);
    }
    if held.is_some() {
        store.erase_setting(OLD_SETTING).await?;
        tracing::info!("moved the secret key from the database to a file; older backups still contain it");
    }
    register_signer(store, &keys, now).await?;
    Ok(keys)
}

/// Creates a key for a data directory that has none.
fn make(data_dir: &Path, known: Option<&str>, held: Option<&str>) -> Result<Keyring, KeyError> {
    let path = data_dir.join(keys::FILE);
    let keys = match (held, known) {
        (Some(held), _) => Keyring::parse(held)
            .map_err(|reason| KeyError::Unreadable { place: "the database".to_owned(), reason })?,
        (None, Some(known)) => return Err(KeyError::Missing { path, known: known.to_owned() }),
        (None, None) => Keyring::new(SecretKey::random()),
    };
    match file::create(&path, &keys)? {
        true => Ok(keys),
        // Another process created one at the same time.
        false => file::read(&KeySource::DataDirectory, data_dir)?
            .ok_or(KeyError::Missing { path, known: String::new() }),
    }
}

/// Checks that the database is used with these keys.
async fn admit(store: &Store, keys: &Keyring, now: Timestamp) -> Result<(), KeyError> {
    let here = keys.current_key().fingerprint();
    let before = keys.previous_key().map(SecretKey::fingerprint);
    let mut writing = store.write_account(&AccountId::installation()).await?;
    let known = writing.setting(FINGERPRINT).await?;
    match admit_key(known.as_deref(), &here, before.as_deref()) {
        KeyAdmission::Same => Ok(()),
        KeyAdmission::Foreign => Err(KeyError::Foreign { here, known: known.unwrap_or_default() }),
        // The account's row is locked: a server that starts at the same time sees what is written here.
        admission @ (KeyAdmission::First | KeyAdmission::Rotated) => {
            writing.setting_put(FINGERPRINT, &here).await?;
            let action = if admission == KeyAdmission::Rotated { "key.rotate" } else { "key.first" };
            let detail = json!({"before": known});
            writing.audit(record::audit_entry(&Actor::windlass(), action, ("key", &here), detail, now));
            writing.commit().await?;
            Ok(())
        }
    }
}

/// Stores the public half of the signing key, endorsed by the previous key if that is available.
async fn register_signer(store: &Store, keys: &Keyring, now: Timestamp) -> Result<(), KeyError> {
    let Some(signer) = keys.current_key().signer() else { return Ok(()) };
    let mut writing = store.write_account(&AccountId::installation()).await?;
    let known = writing.audit_keys().await?;
    if known.iter().any(|key| key.id == signer.key_id()) {
        return Ok(());
    }
    let before = keys.previous_key().and_then(SecretKey::signer);
    let before = before.filter(|before| known.iter().any(|key| key.id == before.key_id()));
    let public_key = signer.public_key();
    let message = before.as_ref().map(|before| follows_message(&before.public_key(), &public_key));
    let key = AuditKey {
        id: signer.key_id(),
        previous_id: before.as_ref().map(signing::Signer::key_id),
        endorsement: before.as_ref().zip(message.as_ref()).map(|(before, message)| before.sign(message)),
        acknowledgement: message.as_ref().map(|message| signer.sign(message)),
        public_key,
        created_at: now,
    };
    writing.audit_key_add(&key).await?;
    let detail = json!({"public_key": key.public_key, "previous": key.previous_id});
    writing.audit(record::audit_entry(
        &Actor::windlass(),
        "audit.key",
        ("key", key.id.as_str()),
        detail,
        now,
    ));
    writing.commit().await?;
    Ok(())
}

/// Replaces the key that the database is used with, without having that key. The new key acknowledges the old public key, but
/// the old one does not endorse the new one: people who stored the old public key need the new one.
pub(crate) async fn replace_known(store: &Store, keys: &Keyring, now: Timestamp) -> Result<(), KeyError> {
    let here = keys.current_key().fingerprint();
    let mut writing = store.write_account(&AccountId::installation()).await?;
    let before = writing.setting(FINGERPRINT).await?;
    writing.setting_put(FINGERPRINT, &here).await?;
    if let (Some(signer), Some(last)) = (keys.current_key().signer(), writing.audit_keys().await?.pop())
        && last.id != signer.key_id()
    {
        let message = follows_message(&last.public_key, &signer.public_key());
        let key = AuditKey {
            id: signer.key_id(),
            public_key: signer.public_key(),
            previous_id: Some(last.id),
            endorsement: None,
            acknowledgement: Some(signer.sign(&message)),
            created_at: now,
        };
        writing.audit_key_add(&key).await?;
    }
    let detail = json!({"before": before});
    writing.audit(record::audit_entry(&Actor::windlass(), "key.reset", ("key", &here), detail, now));
    writing.commit().await?;
    Ok(())
}
