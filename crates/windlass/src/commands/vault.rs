//! What the options about Vault mean.

use windlass_core::redacted::Redacted;
use windlass_server::{CredentialStore, SettingsError, VaultLogin, VaultSettings, credentials_in_vault};

use super::input::read_text;
use crate::args::vault::VaultOptions;
use crate::exit::CommandError;

/// The Vault that the options and the environment name, if they name one.
pub(super) fn credentials(options: &VaultOptions) -> Result<Option<CredentialStore>, CommandError> {
    // An empty variable is one that was taken away.
    let Some(address) = options.vault_addr.as_deref().filter(|address| !address.is_empty()) else {
        return match options.vault_token_file.is_some() || options.vault_role_id.is_some() {
            true => Err(CommandError::usage("the address of Vault is missing", "add --vault-addr")),
            false => Ok(None),
        };
    };
    let mut settings = VaultSettings::new(address, login(options)?);
    settings.namespace.clone_from(&options.vault_namespace);
    settings.prefix.clone_from(&options.vault_prefix);
    settings.ca_pem = options.vault_ca_file.as_deref().map(read_text).transpose()?;
    credentials_in_vault(settings).map(Some).map_err(|error| {
        let help = match error {
            SettingsError::Address => "write --vault-addr https://vault.example.com:8200",
            SettingsError::Plain => "use https://, or a Vault agent on this machine",
            SettingsError::Authority => "give a PEM file of certificates with --vault-ca-file",
            SettingsError::Namespace => "write --vault-namespace team/project",
            SettingsError::Prefix => "write --vault-prefix secret/gitops",
            SettingsError::Client => "check the system's certificates",
        };
        CommandError::usage(error.to_string(), help).because(error)
    })
}

fn login(options: &VaultOptions) -> Result<VaultLogin, CommandError> {
    if let (Some(role_id), Some(file)) = (&options.vault_role_id, &options.vault_secret_id_file) {
        let (mount, role_id) = (options.vault_approle_mount.trim_matches('/').to_owned(), role_id.clone());
        return Ok(VaultLogin::AppRole { mount, role_id, secret_id_file: file.clone() });
    }
    if let Some(file) = &options.vault_token_file {
        return Ok(VaultLogin::TokenFile(file.clone()));
    }
    match std::env::var("VAULT_TOKEN") {
        Ok(token) if !token.trim().is_empty() => {
            Ok(VaultLogin::Token(Redacted::new(token.trim().to_owned())))
        }
        _ => Err(CommandError::usage(
            "the login for Vault is missing",
            "add --vault-role-id and --vault-secret-id-file, or --vault-token-file, or set VAULT_TOKEN",
        )),
    }
}
