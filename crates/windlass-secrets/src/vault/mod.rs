//! Credentials in Vault or OpenBao: a KV version 2 secrets engine over HTTP.
//!
//! Nothing is cached: each run reads the credential again, so a rotated credential is used from the next run on. A
//! credential that cannot be read is an error with a code of its own; Windlass never tries an anonymous request
//! instead.

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

/// A client of one Vault server.
#[derive(Clone, Debug)]
pub struct Vault {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    wire: VaultClient,
    session: VaultSession,
    prefix: Option<String>,
    /// The error of the last request, if it affects every credential.
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
    /// Creates a client without sending a request: a server starts even while Vault is down.
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

    /// The address, for messages.
    pub fn address(&self) -> String {
        self.inner.wire.address()
    }

    /// The fields of the credential at a path, for an account. The path is written as in the API
    /// (`secret/data/git/key`) or as in the Vault CLI (`secret/git/key`).
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
            // The response for a deleted version has no secret, but has the version's metadata.
            404 if answer.read::<SecretResponse>().is_some() => {
                Err(VaultError::Deleted { path: path.as_str().to_owned() })
            }
            _ => Err(wire.response_error(&answer, path.as_str()).await),
        }
    }

    /// Checks that Vault answers and that this server's token is valid for a while longer: renews the token, or logs in
    /// again. The server calls this about once a minute.
    pub async fn keep_alive(&self) -> Result<(), VaultError> {
        let kept = self.inner.session.keep_alive(&self.inner.wire).await;
        self.note(kept.as_ref().err());
        kept
    }

    /// The error of the last request, if it affects every credential.
    pub fn trouble(&self) -> Option<VaultError> {
        self.inner.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers the error of a request if it affects every credential, and clears it otherwise.
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

/// The texts of a credential, without the line ends that files and pipes append.
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
