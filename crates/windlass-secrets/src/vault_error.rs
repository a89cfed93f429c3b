//! The errors of Vault, one variant each. No text of Vault's response is repeated: it could contain a secret.

/// Why a request to Vault failed. Contains no secret.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum VaultError {
    /// Vault does not answer.
    #[error("cannot reach Vault at {address}: {reason}")]
    Unreachable {
        /// The address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// Vault's certificate is not trusted, or the server does not use TLS.
    #[error("the certificate of Vault at {address} is not trusted: {reason}")]
    Tls {
        /// The address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// Vault did not answer in time.
    #[error("Vault at {address} did not respond in time")]
    Timeout {
        /// The address.
        address: String,
    },
    /// Vault is sealed.
    #[error("Vault at {address} is sealed")]
    Sealed {
        /// The address.
        address: String,
    },
    /// Vault is not initialised.
    #[error("Vault at {address} is not initialised")]
    Uninitialised {
        /// The address.
        address: String,
    },
    /// This Vault is not the active node of its cluster, and does not forward requests.
    #[error("Vault at {address} is a standby and does not forward requests")]
    Standby {
        /// The address.
        address: String,
    },
    /// Vault is overloaded.
    #[error("Vault at {address} limits requests")]
    Busy {
        /// The address.
        address: String,
    },
    /// The file with the token or the secret id cannot be used.
    #[error("cannot use the Vault login file {file}: {reason}")]
    LoginFile {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// Vault rejects the role id or the secret id.
    #[error(
        "Vault does not accept the AppRole login at auth/{mount}: the role id or the secret id is wrong or expired"
    )]
    LoginRefused {
        /// The mount path of the auth method.
        mount: String,
    },
    /// Vault rejects the token.
    #[error("Vault does not accept this server's token: it is wrong, has expired or was revoked")]
    TokenRefused,
    /// The token expires and cannot be renewed.
    #[error("this server's Vault token expires in {seconds} s and cannot be renewed")]
    TokenExpires {
        /// Its remaining lifetime.
        seconds: u64,
    },
    /// The token is valid, and has no permission for this path.
    #[error("this server's Vault token may not read {path}")]
    Denied {
        /// The path that was requested.
        path: String,
    },
    /// No secrets engine is mounted there.
    #[error("Vault has no secrets engine at {path}")]
    NoMount {
        /// The path.
        path: String,
    },
    /// The namespace does not exist, or the token has no access to it.
    #[error("Vault has no namespace {namespace} for this server's token")]
    Namespace {
        /// The namespace.
        namespace: String,
    },
    /// The secrets engine is KV version 1.
    #[error("the secrets engine at {mount} is KV version 1")]
    KvV1 {
        /// The mount.
        mount: String,
    },
    /// The secrets engine is not KV.
    #[error("the secrets engine at {mount} is not KV")]
    NotKv {
        /// The mount.
        mount: String,
    },
    /// The path does not exist.
    #[error("the credential {path} does not exist in Vault")]
    Missing {
        /// The path.
        path: String,
    },
    /// The newest version was deleted or destroyed.
    #[error("the newest version of {path} in Vault was deleted")]
    Deleted {
        /// The path.
        path: String,
    },
    /// The secret is not a map of texts.
    #[error("the credential {path} in Vault is not a map of text values")]
    NotTextMap {
        /// The path.
        path: String,
    },
    /// The path is outside of the configured prefix.
    #[error("the credential {path} is outside {prefix}, this server's --vault-prefix")]
    OutsidePrefix {
        /// The path.
        path: String,
        /// The configured prefix.
        prefix: String,
    },
    /// No prefix is configured, so there is nothing to list.
    #[error("this server has no --vault-prefix")]
    NoPrefix,
    /// The response is larger than any credential.
    #[error("Vault's response for {path} is too large")]
    TooLarge {
        /// The path that was requested.
        path: String,
    },
    /// Vault answered with an unexpected status.
    #[error("Vault returned status {status} for {path}")]
    UnexpectedStatus {
        /// The HTTP status.
        status: u16,
        /// The path that was requested.
        path: String,
    },
}

impl VaultError {
    /// A stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            VaultError::Unreachable { .. } => "vault-unreachable",
            VaultError::Tls { .. } => "vault-tls",
            VaultError::Timeout { .. } => "vault-timeout",
            VaultError::Sealed { .. } => "vault-sealed",
            VaultError::Uninitialised { .. } => "vault-uninitialised",
            VaultError::Standby { .. } => "vault-standby",
            VaultError::Busy { .. } => "vault-busy",
            VaultError::LoginFile { .. } => "vault-login-file",
            VaultError::LoginRefused { .. } => "vault-login",
            VaultError::TokenRefused => "vault-token",
            VaultError::TokenExpires { .. } => "vault-token-ends",
            VaultError::Denied { .. } => "vault-denied",
            VaultError::NoMount { .. } => "vault-mount-missing",
            VaultError::Namespace { .. } => "vault-namespace",
            VaultError::KvV1 { .. } => "vault-kv-v1",
            VaultError::NotKv { .. } => "vault-not-kv",
            VaultError::Missing { .. } => "credential-missing",
            VaultError::Deleted { .. } => "vault-version-deleted",
            VaultError::NotTextMap { .. } => "credential-shape",
            VaultError::OutsidePrefix { .. } => "credential-path",
            VaultError::NoPrefix => "vault-prefix-missing",
            VaultError::TooLarge { .. } => "vault-too-large",
            VaultError::UnexpectedStatus { .. } => "vault-answer",
        }
    }

    /// Whether the error affects every credential and not only one.
    pub(crate) fn affects_every_credential(&self) -> bool {
        match self {
            VaultError::Unreachable { .. }
            | VaultError::Tls { .. }
            | VaultError::Timeout { .. }
            | VaultError::Sealed { .. }
            | VaultError::Uninitialised { .. }
            | VaultError::Standby { .. }
            | VaultError::Busy { .. }
            | VaultError::LoginFile { .. }
            | VaultError::LoginRefused { .. }
            | VaultError::TokenRefused
            | VaultError::TokenExpires { .. }
            | VaultError::Namespace { .. } => true,
            VaultError::Denied { .. }
            | VaultError::NoMount { .. }
            | VaultError::KvV1 { .. }
            | VaultError::NotKv { .. }
            | VaultError::Missing { .. }
            | VaultError::Deleted { .. }
            | VaultError::NotTextMap { .. }
            | VaultError::OutsidePrefix { .. }
            | VaultError::NoPrefix
            | VaultError::TooLarge { .. }
            | VaultError::UnexpectedStatus { .. } => false,
        }
    }

    /// How to fix it.
    pub fn help(&self) -> &'static str {
        match self {
            VaultError::Unreachable { .. } => "check --vault-addr, the network and that Vault runs",
            VaultError::Tls { .. } => "give the authority with --vault-ca-file, or fix Vault's certificate",
            VaultError::Timeout { .. } => "check Vault and its storage; the next run retries",
            VaultError::Sealed { .. } => "unseal it: `vault operator unseal`",
            VaultError::Uninitialised { .. } => "set it up with `vault operator init`, or fix --vault-addr",
            VaultError::Standby { .. } => {
                "set --vault-addr to the active node, or enable request forwarding on standbys"
            }
            VaultError::Busy { .. } => "raise Vault's rate limit for this server; the next run retries",
            VaultError::LoginFile { .. } => "store the token or secret id there, readable only by the server",
            VaultError::LoginRefused { .. } => {
                "create a new secret id for the role and store it in --vault-secret-id-file"
            }
            VaultError::TokenRefused => {
                "store a new token in --vault-token-file; it must have permission to read auth/token/lookup-self"
            }
            VaultError::TokenExpires { .. } => "create a renewable or periodic token, or log in with AppRole",
            VaultError::Denied { .. } => {
                "allow the token's policy to read this path (with `data/` after the mount) and to list it under \
                    `metadata/`"
            }
            VaultError::NoMount { .. } => "fix the path; `vault secrets list` lists the mounts",
            VaultError::Namespace { .. } => "fix --vault-namespace, or log in inside that namespace",
            VaultError::KvV1 { .. } => {
                "upgrade it with `vault kv enable-versioning`, or store the credential elsewhere"
            }
            VaultError::NotKv { .. } => "store credentials in a KV version 2 secrets engine",
            VaultError::Missing { .. } => "create it, or fix the repository's vault_credential_path",
            VaultError::Deleted { .. } => "restore it with `vault kv undelete`, or store a new version",
            VaultError::NotTextMap { .. } => {
                "store username and password, token, or ssh_key there, each as text"
            }
            VaultError::OutsidePrefix { .. } => "store it under --vault-prefix, or fix the path",
            VaultError::NoPrefix => "start the server with --vault-prefix",
            VaultError::TooLarge { .. } => "store one credential per path",
            VaultError::UnexpectedStatus { .. } => "see Vault's log, and check that --vault-addr is a Vault",
        }
    }
}

/// Why the settings for Vault are not valid.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SettingsError {
    /// The address is not a URL.
    #[error("the address of Vault must be https://host[:port], without user, password, query or fragment")]
    Address,
    /// The address is plain http to another machine: the token would be sent unencrypted.
    #[error("Vault's address is http://, which is allowed only on this machine")]
    Plain,
    /// The authority is not a certificate in PEM.
    #[error("the CA certificate for Vault is not in PEM format")]
    Authority,
    /// The namespace is not valid.
    #[error("not a Vault namespace")]
    Namespace,
    /// The prefix is not a valid path.
    #[error("not a Vault path")]
    Prefix,
    /// The HTTP client could not be built.
    #[error("cannot set up TLS on this machine")]
    Client,
}
