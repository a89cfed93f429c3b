//! The credential for a remote.

use windlass_core::redacted::Redacted;

/// How to log in to a remote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credential {
    /// No login: the repository is public.
    #[default]
    None,
    /// A user and a password over https. A token is a password with any user.
    Basic {
        /// The user.
        username: String,
        /// The password or token.
        password: Redacted<String>,
    },
    /// A private key over ssh.
    SshKey {
        /// The key as OpenSSH writes it, without a passphrase.
        key: Redacted<String>,
        /// Lines of a known_hosts file for the host, if they are stored with the key.
        known_hosts: Option<String>,
    },
}
