//! How Vault is reached, and as whom.

use std::path::PathBuf;
use std::time::Duration;

use windlass_core::redacted::Redacted;

/// A Vault that takes longer fails the run; the next one tries again.
const PATIENCE: Duration = Duration::from_secs(15);

/// Everything that can be configured.
#[derive(Clone, Debug)]
pub struct VaultSettings {
    /// Where it is: `https://vault.example.com:8200`. Plain http only on this machine.
    pub address: String,
    /// How to log in.
    pub login: VaultLogin,
    /// The namespace to work in.
    pub namespace: Option<String>,
    /// The only authorities to trust, in PEM, instead of the system's.
    pub ca_pem: Option<String>,
    /// Where credentials are. Nothing outside is read. `{account}` stands for the account's name.
    pub prefix: Option<String>,
    /// How long an answer may take.
    pub timeout: Duration,
}

impl VaultSettings {
    /// The Vault at an address, and everything else as it is by default.
    pub fn new(address: impl Into<String>, login: VaultLogin) -> VaultSettings {
        VaultSettings {
            address: address.into(),
            login,
            namespace: None,
            ca_pem: None,
            prefix: None,
            timeout: PATIENCE,
        }
    }
}

/// How to log in.
#[derive(Clone, Debug)]
pub enum VaultLogin {
    /// With a token.
    Token(Redacted<String>),
    /// With the token in a file, read anew each time: someone else, such as an agent, may replace it.
    TokenFile(PathBuf),
    /// As a machine, with a role's id and a secret in a file, read anew at each login.
    AppRole {
        /// Where the method is mounted, usually `approle`.
        mount: String,
        /// Which role.
        role_id: String,
        /// The file with the secret id.
        secret_id_file: PathBuf,
    },
}
