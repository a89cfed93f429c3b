//! The Vault login: gets a token, renews it, and gets a new one when it has expired.
//!
//! No clock is used here. Vault reports the remaining lifetime of a token, and rejects an expired one.

use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;
use windlass_core::redacted::Redacted;

use super::client::VaultClient;
use super::settings::VaultLogin;
use crate::directory::read_file;
use crate::vault_error::VaultError;

const LOOK_UP: &str = "auth/token/lookup-self";
const RENEW: &str = "auth/token/renew-self";

/// This server's login at Vault.
#[derive(Debug)]
pub(super) struct VaultSession {
    login: VaultLogin,
    /// The token of the last AppRole login. The lock is held during a login, so that concurrent runs log in only once.
    current: Mutex<Option<Redacted<String>>>,
}

/// The lifetime of a token.
#[derive(Clone, Copy, Debug, Deserialize)]
struct TokenTtl {
    /// Remaining seconds; 0 for a token that never expires.
    ttl: u64,
    /// Seconds when it was issued; 0 for a token that never expires.
    #[serde(default)]
    creation_ttl: u64,
    #[serde(default)]
    renewable: bool,
}

impl TokenTtl {
    /// Whether less than a third of the lifetime remains.
    fn expires_soon(self) -> bool {
        self.creation_ttl > 0 && self.ttl < self.creation_ttl / 3
    }
}

#[derive(Deserialize)]
struct LookedUp {
    data: TokenTtl,
}

#[derive(Deserialize)]
struct LoggedIn {
    auth: AuthResponse,
}

#[derive(Deserialize)]
struct AuthResponse {
    client_token: String,
}

impl VaultSession {
    pub(super) fn new(login: VaultLogin) -> VaultSession {
        VaultSession { login, current: Mutex::new(None) }
    }

    /// The token for the next request.
    pub(super) async fn token(&self, client: &VaultClient) -> Result<Redacted<String>, VaultError> {
        match &self.login {
            VaultLogin::Token(token) => Ok(token.clone()),
            VaultLogin::TokenFile(file) => read_secret(file),
            VaultLogin::AppRole { .. } => {
                let mut current = self.current.lock().await;
                match current.as_ref() {
                    Some(token) => Ok(token.clone()),
                    None => Ok(current.insert(self.log_in(client).await?).clone()),
                }
            }
        }
    }

    /// A replacement for a token that Vault rejected, if the token has expired and another is available. `None` if the
    /// token is still valid: Vault then refused the request and not the token.
    pub(super) async fn replacement_token(
        &self,
        client: &VaultClient,
        refused: &Redacted<String>,
    ) -> Result<Option<Redacted<String>>, VaultError> {
        match self.look_up(client, refused).await {
            Ok(_) => Ok(None),
            Err(VaultError::TokenRefused) => self.replace(client, refused).await.map(Some),
            Err(error) => Err(error),
        }
    }

    /// Replaces a token that has expired or is about to.
    async fn replace(
        &self,
        client: &VaultClient,
        old: &Redacted<String>,
    ) -> Result<Redacted<String>, VaultError> {
        match &self.login {
            VaultLogin::Token(_) => Err(VaultError::TokenRefused),
            VaultLogin::TokenFile(file) => {
                let token = read_secret(file)?;
                if token == *old { Err(VaultError::TokenRefused) } else { Ok(token) }
            }
            VaultLogin::AppRole { .. } => {
                let mut current = self.current.lock().await;
                match current.as_ref() {
                    // Another task already logged in.
                    Some(token) if token != old => Ok(token.clone()),
                    _ => {
                        *current = None;
                        Ok(current.insert(self.log_in(client).await?).clone())
                    }
                }
            }
        }
    }

    /// Makes sure that the token is valid for a while longer.
    pub(super) async fn keep_alive(&self, client: &VaultClient) -> Result<(), VaultError> {
        let mut token = self.token(client).await?;
        let ttl = match self.look_up(client, &token).await {
            Ok(ttl) => ttl,
            Err(VaultError::TokenRefused) => {
                token = self.replace(client, &token).await?;
                self.look_up(client, &token).await?
            }
            Err(error) => return Err(error),
        };
        if !ttl.expires_soon() {
            return Ok(());
        }
        let ttl = self.renew(client, &token, ttl).await?;
        match (ttl.expires_soon(), &self.login) {
            (false, _) => Ok(()),
            (true, VaultLogin::AppRole { .. }) => self.replace(client, &token).await.map(drop),
            (true, _) => Err(VaultError::TokenExpires { seconds: ttl.ttl }),
        }
    }

    async fn renew(
        &self,
        client: &VaultClient,
        token: &Redacted<String>,
        ttl: TokenTtl,
    ) -> Result<TokenTtl, VaultError> {
        if !ttl.renewable {
            return Ok(ttl);
        }
        // Without an increment, Vault grants the last period again, which may be shorter.
        let body = json!({"increment": format!("{}s", ttl.creation_ttl)});
        let answer = client.post(RENEW, &body, Some(token)).await?;
        match answer.status {
            200 => self.look_up(client, token).await,
            // Vault answers so for a token without permission to renew itself, and for one that is not renewable.
            400 | 403 => Ok(ttl),
            _ => Err(client.response_error(&answer, RENEW).await),
        }
    }

    async fn look_up(&self, client: &VaultClient, token: &Redacted<String>) -> Result<TokenTtl, VaultError> {
        let answer = client.get(LOOK_UP, &[], token).await?;
        match answer.status {
            200 => {
                let looked: Option<LookedUp> = answer.read();
                let strange = || VaultError::UnexpectedStatus { status: 200, path: LOOK_UP.to_owned() };
                looked.map(|looked| looked.data).ok_or_else(strange)
            }
            _ => match client.response_error(&answer, LOOK_UP).await {
                VaultError::Denied { .. } => Err(VaultError::TokenRefused),
                fault => Err(fault),
            },
        }
    }

    async fn log_in(&self, client: &VaultClient) -> Result<Redacted<String>, VaultError> {
        let VaultLogin::AppRole { mount, role_id, secret_id_file } = &self.login else {
            return Err(VaultError::TokenRefused);
        };
        let secret_id = read_secret(secret_id_file)?;
        let path = format!("auth/{mount}/login");
        let body = json!({"role_id": role_id, "secret_id": secret_id.expose()});
        let answer = client.post(&path, &body, None).await?;
        let refused = || VaultError::LoginRefused { mount: mount.clone() };
        match answer.status {
            200 => {
                let granted: Option<LoggedIn> = answer.read();
                granted.map(|granted| Redacted::new(granted.auth.client_token)).ok_or_else(refused)
            }
            400 => Err(refused()),
            _ => match client.response_error(&answer, &path).await {
                VaultError::Denied { .. } => Err(refused()),
                fault => Err(fault),
            },
        }
    }
}

/// Reads a secret from a file that not everyone can read, without surrounding white space.
fn read_secret(file: &Path) -> Result<Redacted<String>, VaultError> {
    let unusable = |reason: String| VaultError::LoginFile { file: file.display().to_string(), reason };
    let text = read_file(file).map_err(|error| unusable(error.to_string()))?;
    match text.expose().trim() {
        "" => Err(unusable("it is empty".to_owned())),
        secret if secret.chars().all(|c| c.is_ascii_graphic()) => Ok(Redacted::new(secret.to_owned())),
        _ => Err(unusable("it does not contain exactly one word".to_owned())),
    }
}
