//! Credentials in Vault or OpenBao: a KV version 2 secrets engine over HTTP.
//!
//! Nothing is cached: each run reads the credential again, so a rotated credential is used from the next run on. A
//! credential that cannot be read is an error with a code of its own; Windlass never tries an anonymous request
//! instead.

mod client;
mod kv_path;
mod list;
mod session;
mod settings;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::Value;
use windlass_core::redacted::Redacted;

pub use list::CredentialListing;
pub use settings::{VaultLogin, VaultSettings};

use self::client::{VaultClient, VaultResponse};
use self::kv_path::{KvPath, VaultPath};
use self::session::VaultSession;
use crate::credential_fields::{ACCOUNT, CredentialFields};
use crate::error::SecretError;
use crate::vault_error::{SettingsError, VaultError};

/// A client of one Vault server.
#[derive(Clone, Debug)]
pub struct Vault {
    inner: Arc<VaultInner>,
}

#[derive(Debug)]
struct VaultInner {
    client: VaultClient,
    session: VaultSession,
    prefix: Option<String>,
    /// The error of the last request, if it affects every credential.
    last_error: Mutex<Option<VaultError>>,
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
        let client = VaultClient::new(&settings)?;
        if let Some(prefix) = &settings.prefix {
            VaultPath::parse(&prefix.replace(ACCOUNT, "account")).map_err(|_| SettingsError::Prefix)?;
        }
        let session = VaultSession::new(settings.login);
        let inner = VaultInner { client, session, prefix: settings.prefix, last_error: Mutex::default() };
        Ok(Vault { inner: Arc::new(inner) })
    }

    /// Whether each account reads only below a prefix of its own.
    pub(crate) fn is_split_by_account(&self) -> bool {
        self.inner.prefix.as_ref().is_some_and(|prefix| prefix.contains(ACCOUNT))
    }

    /// The address, for messages.
    pub fn address(&self) -> String {
        self.inner.client.address()
    }

    /// The fields of the credential at a path, for an account. The path is written as in the API
    /// (`secret/data/git/key`) or as in the Vault CLI (`secret/git/key`).
    pub async fn read(&self, account: &str, path: &str) -> Result<CredentialFields, SecretError> {
        let path = VaultPath::parse(path)?;
        let prefix = self.prefix_of(account)?;
        let token = self.remember_error(self.inner.session.token(&self.inner.client).await)?;
        let read = self.read_as(&token, &path, prefix.as_ref()).await;
        let read = match read {
            Err(denied @ VaultError::Denied { .. }) => {
                match self
                    .remember_error(self.inner.session.replacement_token(&self.inner.client, &token).await)?
                {
                    Some(token) => self.read_as(&token, &path, prefix.as_ref()).await,
                    None => Err(denied),
                }
            }
            read => read,
        };
        Ok(self.remember_error(read)?)
    }

    async fn read_as(
        &self,
        token: &Redacted<String>,
        path: &VaultPath,
        prefix: Option<&VaultPath>,
    ) -> Result<CredentialFields, VaultError> {
        let client = &self.inner.client;
        let kv_path = KvPath::find(client, token, path).await?;
        if let Some(prefix) = prefix
            && !kv_path.is_below(prefix)
        {
            let (path, prefix) = (path.as_str().to_owned(), prefix.as_str().to_owned());
            return Err(VaultError::OutsidePrefix { path, prefix });
        }
        let answer = client.get(&kv_path.data(), &[], token).await?;
        match answer.status {
            200 => fields(&answer, path),
            // The response for a deleted version has no secret, but has the version's metadata.
            404 if answer.read::<SecretResponse>().is_some() => {
                Err(VaultError::Deleted { path: path.as_str().to_owned() })
            }
            _ => Err(client.response_error(&answer, path.as_str()).await),
        }
    }

    /// Checks that Vault answers and that this server's token is valid for a while longer: renews the token, or logs in
    /// again. The server calls this about once a minute.
    pub async fn keep_alive(&self) -> Result<(), VaultError> {
        let result = self.inner.session.keep_alive(&self.inner.client).await;
        self.set_last_error(result.as_ref().err());
        result
    }

    /// The error of the last request, if it affects every credential.
    pub fn last_error(&self) -> Option<VaultError> {
        self.inner.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers the error of a request if it affects every credential, and clears it otherwise.
    fn remember_error<T>(&self, result: Result<T, VaultError>) -> Result<T, VaultError> {
        self.set_last_error(result.as_ref().err().filter(|error| error.affects_every_credential()));
        result
    }

    fn set_last_error(&self, last_error: Option<&VaultError>) {
        *self.inner.last_error.lock().unwrap_or_else(PoisonError::into_inner) = last_error.cloned();
    }

    fn prefix_of(&self, account: &str) -> Result<Option<VaultPath>, SecretError> {
        let prefix = self.inner.prefix.as_ref().map(|prefix| prefix.replace(ACCOUNT, account));
        prefix.as_deref().map(VaultPath::parse).transpose()
    }
}

/// The texts of a credential, without the line ends that files and pipes append.
fn fields(answer: &VaultResponse, path: &VaultPath) -> Result<CredentialFields, VaultError> {
    let shape = || VaultError::NotTextMap { path: path.as_str().to_owned() };
    let secret: SecretResponse = answer.read().ok_or_else(shape)?;
    let entries = secret.data.data.ok_or_else(shape)?.into_iter().map(|(key, value)| match value {
        Value::String(mut text) => {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
            Ok((key, Redacted::new(text)))
        }
        _ => Err(shape()),
    });
    entries.collect()
}
