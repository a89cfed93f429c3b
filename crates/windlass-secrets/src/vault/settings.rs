//! Settings of the connection to Vault and of the login.

use std::path::PathBuf;
use std::time::Duration;

use windlass_core::redacted::Redacted;

/// If Vault takes longer, the run fails; the next run tries again.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15);

/// Settings of a Vault client.
#[derive(Clone, Debug)]
pub struct VaultSettings {
    /// The URL: `https://vault.example.com:8200`. Plain http is accepted only for this machine.
    pub address: String,
    /// How to log in.
    pub login: VaultLogin,
    /// The Vault namespace.
    pub namespace: Option<String>,
    /// The only certificate authorities to trust, in PEM, instead of the system's.
    pub ca_pem: Option<String>,
    /// The path of all credentials; nothing outside it is read. `{account}` stands for the account's name.
    pub prefix: Option<String>,
    /// Time limit for a request.
    pub timeout: Duration,
}

impl VaultSettings {
    /// Default settings for an address and a login.
    pub fn new(address: impl Into<String>, login: VaultLogin) -> VaultSettings {
        VaultSettings {
            address: address.into(),
            login,
            namespace: None,
            ca_pem: None,
            prefix: None,
            timeout: DEFAULT_TIMEOUT,
        }
    }
}

/// How to log in.
#[derive(Clone, Debug)]
pub enum VaultLogin {
    /// With a token.
    Token(Redacted<String>),
    /// With the token in a file. The file is read for every request, because an agent may replace it.
    TokenFile(PathBuf),
    /// With AppRole: a role id, and a secret id in a file that is read at each login.
    AppRole {
        /// The mount path of the auth method, usually `approle`.
        mount: String,
        /// The id of the role.
        role_id: String,
        /// The file with the secret id.
        secret_id_file: PathBuf,
    },
}
