//! Options of a server that keeps its credentials in Vault. The token itself is never an argument: others can see command
//! lines.

use std::path::PathBuf;

use clap::Args;

/// Which Vault, as whom.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Credentials in Vault or OpenBao")]
pub(crate) struct VaultOptions {
    /// Read credentials from the KV version 2 secrets engines of this Vault, such as `https://vault.example.com:8200`.
    #[arg(long, env = "VAULT_ADDR", value_name = "URL", hide_env_values = true)]
    pub(crate) vault_addr: Option<String>,

    /// Log in with the token in this file, read at each use. Default: VAULT_TOKEN.
    #[arg(long, env = "VAULT_TOKEN_FILE", value_name = "FILE", conflicts_with = "vault_role_id")]
    pub(crate) vault_token_file: Option<PathBuf>,

    /// Log in as this AppRole.
    #[arg(
        long,
        env = "VAULT_ROLE_ID",
        value_name = "ID",
        requires = "vault_secret_id_file",
        hide_env_values = true
    )]
    pub(crate) vault_role_id: Option<String>,

    /// The file with the AppRole's secret id, read at each login.
    #[arg(long, env = "VAULT_SECRET_ID_FILE", value_name = "FILE", requires = "vault_role_id")]
    pub(crate) vault_secret_id_file: Option<PathBuf>,

    /// Where the AppRole method is mounted.
    #[arg(long, value_name = "PATH", default_value = "approle")]
    pub(crate) vault_approle_mount: String,

    /// The Vault namespace.
    #[arg(long, env = "VAULT_NAMESPACE", value_name = "NAME")]
    pub(crate) vault_namespace: Option<String>,

    /// Trust only the certificate authorities in this PEM file, not the system's.
    #[arg(long, env = "VAULT_CACERT", value_name = "FILE")]
    pub(crate) vault_ca_file: Option<PathBuf>,

    /// The path of the credentials, for example secret/gitops/{account}. The server lists and reads nothing outside it.
    /// `{account}` stands for the account's name.
    #[arg(long, env = "WINDLASS_VAULT_PREFIX", value_name = "PATH")]
    pub(crate) vault_prefix: Option<String>,
}
