//! What the options about single sign-on mean.

use windlass_server::{OidcSettings, OidcSettingsError, PasswordPolicy};

use super::input::read_text;
use crate::args::oidc::OidcOptions;
use crate::exit::CommandError;

/// The provider that the options and the environment name, if they name one.
pub(super) fn settings(options: &OidcOptions) -> Result<Option<OidcSettings>, CommandError> {
    // An empty variable is one that was taken away.
    let Some(issuer) = options.oidc_issuer.as_deref().filter(|issuer| !issuer.is_empty()) else {
        let is_meant =
            options.oidc_client_id.is_some() || !options.oidc_grant.is_empty() || options.oidc_only;
        return match is_meant {
            true => Err(CommandError::usage("the identity provider is missing", "add --oidc-issuer")),
            false => Ok(None),
        };
    };
    let mut settings = OidcSettings::new(issuer, options.oidc_client_id.as_deref().unwrap_or_default());
    settings.client_secret_file.clone_from(&options.oidc_client_secret_file);
    settings.name.clone_from(&options.oidc_name);
    settings.groups_claim.clone_from(&options.oidc_groups_claim);
    settings.scopes.clone_from(&options.oidc_scope);
    settings.grants.clone_from(&options.oidc_grant);
    settings.ca_pem = options.oidc_ca_file.as_deref().map(read_text).transpose()?;
    if options.oidc_only {
        settings.passwords = PasswordPolicy::RootOnly;
    }
    Ok(Some(settings))
}

/// What to do about settings that cannot be used.
pub(super) fn help(error: &OidcSettingsError) -> &'static str {
    match error {
        OidcSettingsError::Issuer => "write --oidc-issuer https://id.example.com",
        OidcSettingsError::Plain => "use https://; http:// only for a provider on this machine",
        OidcSettingsError::ClientId => "register Windlass at the provider, and add --oidc-client-id",
        OidcSettingsError::Secret { .. } => "check --oidc-client-secret-file and that file's permissions",
        OidcSettingsError::Word(_) => "check --oidc-scope and --oidc-groups-claim",
        OidcSettingsError::Authority => "give a PEM file of certificates with --oidc-ca-file",
        OidcSettingsError::Client => "check the system's certificates",
        OidcSettingsError::Account { .. } => {
            "use an existing account with --oidc-grant GROUP=ROLE@ACCOUNT, or create it first with `windlass account \
                create`"
        }
        OidcSettingsError::PublicUrl => "add --public-url https://windlass.example.com",
    }
}
