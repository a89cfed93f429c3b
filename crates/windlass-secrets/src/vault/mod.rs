//! Credentials in Vault or OpenBao: a KV version 2 secrets engine over HTTP.
//!
//! Nothing that is read is kept: each run asks anew, so that a rotated credential counts from the next run on. What
//! cannot be had is an error with its own code, never an anonymous try.

mod kv_path;
mod list;
mod session;
mod settings;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::Value;
use windlass_core::redacted::Redacted;

pub use list::CredentialListing;
pub use settings::{VaultLogin, VaultSettings};

use self::kv_path::{KvPath, VaultPath};
use self::session::VaultSession;
use self::wire::{VaultClient, VaultResponse};
use crate::error::SecretError;
use crate::kept::{ACCOUNT, CredentialFields};
use crate::vault_error::{SettingsError, VaultError};

/// A Vault.
#[derive(Clone, Debug)]
pub struct Vault {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    wire: VaultClient,
    session: VaultSession,
    prefix: Option<String>,
    /// Why nothing at all could be had when it was last tried.
    trouble: Mutex<Option<VaultError>>,
}

#[derive(Deserialize)]
struct SecretResponse {
    data: SecretVersion,
}

#[derive(Deserialize)]
struct SecretVersion {
    data: Option<BTreeMap<String, Value>>,
}

impl Vault {
    /// Prepares to ask. Nothing is asked yet: a server starts even while Vault is down.
    pub fn new(settings: VaultSettings) -> Result<Vault, SettingsError> {
        let wire = VaultClient::new(&settings)?;
        if let Some(prefix) = &settings.prefix {
            VaultPath::parse(&prefix.replace(ACCOUNT, "account")).map_err(|_| SettingsError::Prefix)?;
        }
        let session = VaultSession::new(settings.login);
        let inner = Inner { wire, session, prefix: settings.prefix, trouble: Mutex::default() };
        Ok(Vault { inner: Arc::new(inner) })
    }

    /// Whether each account reads only below a prefix of its own.
    pub(crate) fn is_split_by_account(&self) -> bool {
        self.inner.prefix.as_ref().is_some_and(|prefix| prefix.contains(ACCOUNT))
    }

    /// Where it is, for people.
    pub fn address(&self) -> String {
        self.inner.wire.address()
    }

    /// What is kept at a path, written as the API does (`secret/data/git/key`) or as people do (`secret/git/key`), for an
    /// account.
    pub async fn read(&self, account: &str, path: &str) -> Result<CredentialFields, SecretError> {
        let path = VaultPath::parse(path)?;
        let prefix = self.prefix_of(account)?;
        let token = self.noted(self.inner.session.token(&self.inner.wire).await)?;
        let read = self.read_as(&token, &path, prefix.as_ref()).await;
        let read = match read {
            Err(denied @ VaultError::Denied { .. }) => {
                match self.noted(self.inner.session.replacement_token(&self.inner.wire, &token).await)? {
                    Some(token) => self.read_as(&token, &path, prefix.as_ref()).await,
                    None => Err(denied),
                }
            }
            read => read,
        };
        Ok(self.noted(read)?)
    }

    async fn read_as(
        &self,
        token: &Redacted<String>,
        path: &VaultPath,
        prefix: Option<&VaultPath>,
    ) -> Result<CredentialFields, VaultError> {
        let wire = &self.inner.wire;
        let place = KvPath::find(wire, token, path).await?;
        if let Some(prefix) = prefix
            && !place.is_below(prefix)
        {
            let (path, prefix) = (path.as_str().to_owned(), prefix.as_str().to_owned());
            return Err(VaultError::Outside { path, prefix });
        }
        let answer = wire.get(&place.data(), &[], token).await?;
        match answer.status {
            200 => fields(&answer, path),
            // The answer about a deleted version has no secret, but tells of the version.
            404 if answer.read::<SecretResponse>().is_some() => {
                Err(VaultError::Deleted { path: path.as_str().to_owned() })
            }
            _ => Err(wire.response_error(&answer, path.as_str()).await),
        }
    }

    /// Makes sure that Vault answers and that this server's token will still be good for a while: renews it, or logs in
    /// again. To be called every minute or so.
    pub async fn keep_alive(&self) -> Result<(), VaultError> {
        let kept = self.inner.session.keep_alive(&self.inner.wire).await;
        self.note(kept.as_ref().err());
        kept
    }

    /// Why nothing at all could be had when it was last tried.
    pub fn trouble(&self) -> Option<VaultError> {
        self.inner.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers whether Vault as a whole could be used.
    fn noted<T>(&self, result: Result<T, VaultError>) -> Result<T, VaultError> {
        self.note(result.as_ref().err().filter(|error| error.is_general()));
        result
    }

    fn note(&self, trouble: Option<&VaultError>) {
        *self.inner.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble.cloned();
    }

    fn prefix_of(&self, account: &str) -> Result<Option<VaultPath>, SecretError> {
        let prefix = self.inner.prefix.as_ref().map(|prefix| prefix.replace(ACCOUNT, account));
        prefix.as_deref().map(VaultPath::parse).transpose()
    }
}

/// The texts of a credential, without the line end that files and pipes put behind them.
fn fields(answer: &VaultResponse, path: &VaultPath) -> Result<CredentialFields, VaultError> {
    let shape = || VaultError::Shape { path: path.as_str().to_owned() };
    let kept: SecretResponse = answer.read().ok_or_else(shape)?;
    let entries = kept.data.data.ok_or_else(shape)?.into_iter().map(|(key, value)| match value {
        Value::String(mut text) => {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
            Ok((key, Redacted::new(text)))
        }
        _ => Err(shape()),
    });
    entries.collect()
}
