//! The names of credentials, for those who register repositories.

use axum::extract::State;
use axum::http::StatusCode;
use windlass_api::types::{CredentialInfo, CredentialList};
use windlass_secrets::{SecretError, VaultError};

use super::error::HttpError;
use super::request::{Answer, ok};
use crate::auth::Identity;
use crate::server::Server;

pub(super) async fn list(State(server): State<Server>, who: Identity) -> Answer {
    let listing = server.config().credentials.list(&who.account_name).await.map_err(refused)?;
    let vault_credentials = listing.paths.into_iter().map(|path| CredentialInfo { path }).collect();
    ok(&CredentialList { vault_credentials, complete: listing.is_complete })
}

/// What is configured otherwise stays so until someone changes it; Vault may answer again at any time.
fn refused(error: SecretError) -> HttpError {
    let status = match &error {
        SecretError::Vault(VaultError::NoPrefix) => StatusCode::CONFLICT,
        SecretError::Vault(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::CONFLICT,
    };
    HttpError::new(status, error.code(), error.to_string(), error.help())
}
