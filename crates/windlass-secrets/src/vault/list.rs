//! Lists the names of credentials in Vault. No secret is read.

use windlass_core::redacted::Redacted;

use serde_json::Value;

use super::Vault;
use super::kv_path::{KvPath, VaultPath};
use crate::error::SecretError;
use crate::vault_error::VaultError;

/// More names than a person reads.
const MAX_NAMES: usize = 1_000;

/// Each directory costs one request.
const MAX_DIRECTORIES: usize = 100;

/// The credentials that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialListing {
    /// Their paths, as a repository names them.
    pub paths: Vec<String>,
    /// `false` if there are more credentials than were listed.
    pub is_complete: bool,
}

impl Vault {
    /// Lists the credentials of an account below the configured prefix.
    pub async fn list(&self, account: &str) -> Result<CredentialListing, SecretError> {
        let prefix = self.prefix_of(account)?.ok_or(VaultError::NoPrefix)?;
        let (client, session) = (&self.inner.client, &self.inner.session);
        let token = self.remember_error(session.token(client).await)?;
        let listed = match self.list_as(&token, &prefix).await {
            Err(denied @ VaultError::Denied { .. }) => {
                match self.remember_error(session.replacement_token(client, &token).await)? {
                    Some(token) => self.list_as(&token, &prefix).await,
                    None => Err(denied),
                }
            }
            listed => listed,
        };
        Ok(self.remember_error(listed)?)
    }

    async fn list_as(
        &self,
        token: &Redacted<String>,
        prefix: &VaultPath,
    ) -> Result<CredentialListing, VaultError> {
        let mut listing = CredentialListing { paths: Vec::new(), is_complete: true };
        let mut directories = vec![KvPath::find(&self.inner.client, token, prefix).await?];
        let mut asked = 0;
        while let Some(directory) = directories.pop() {
            if asked == MAX_DIRECTORIES || listing.paths.len() >= MAX_NAMES {
                listing.is_complete = false;
                break;
            }
            asked += 1;
            for name in self.names(token, &directory).await? {
                match name.strip_suffix('/') {
                    Some(below) => directories.push(directory.child(below)),
                    None => listing.paths.push(directory.child(&name).data()),
                }
            }
        }
        listing.paths.sort();
        listing.is_complete &= listing.paths.len() <= MAX_NAMES;
        listing.paths.truncate(MAX_NAMES);
        Ok(listing)
    }

    /// The entries of a directory; subdirectories end in a slash.
    async fn names(&self, token: &Redacted<String>, directory: &KvPath) -> Result<Vec<String>, VaultError> {
        let client = &self.inner.client;
        let path = directory.metadata();
        let answer = client.get(&path, &[("list", "true")], token).await?;
        let json = match answer.status {
            200 => answer.json().unwrap_or_default(),
            _ => match client.response_error(&answer, &path).await {
                VaultError::Missing { .. } => return Ok(Vec::new()),
                fault => return Err(fault),
            },
        };
        let names = json.pointer("/data/keys").and_then(Value::as_array).into_iter().flatten();
        let plain = |name: &&str| VaultPath::parse(name).is_ok_and(|path| !path.as_str().contains('/'));
        Ok(names.filter_map(Value::as_str).filter(plain).map(str::to_owned).collect())
    }
}
