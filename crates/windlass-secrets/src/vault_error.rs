//! What can go wrong with Vault, each by its own name. Nothing here repeats what Vault said: an answer may hold anything.

/// Why Vault did not give what was asked for. Never holds any of it.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum VaultError {
    /// Nobody answers.
    #[error("cannot reach Vault at {address}: {reason}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why not.
        reason: String,
    },
    /// Its certificate is not trusted, or it speaks no TLS.
    #[error("the certificate of Vault at {address} is not trusted: {reason}")]
    Tls {
        /// Where.
        address: String,
        /// Why not.
        reason: String,
    },
    /// It did not answer in time.
    #[error("Vault at {address} did not respond in time")]
    Timeout {
        /// Where.
        address: String,
    },
    /// It is sealed.
    #[error("Vault at {address} is sealed")]
    Sealed {
        /// Where.
        address: String,
    },
    /// It was never set up.
    #[error("Vault at {address} is not initialised")]
    Uninitialised {
        /// Where.
        address: String,
    },
    /// It is not the active one of its cluster and does not pass requests on.
    #[error("Vault at {address} is a standby and does not forward requests")]
    Standby {
        /// Where.
        address: String,
    },
    /// It has too much to do.
    #[error("Vault at {address} limits requests")]
    Busy {
        /// Where.
        address: String,
    },
    /// The file with what to log in with cannot be used.
    #[error("cannot use the Vault login file {file}: {reason}")]
    LoginFile {
        /// Which.
        file: String,
        /// Why not.
        reason: String,
    },
    /// The role or its secret id is not accepted.
    #[error(
        "Vault does not accept the AppRole login at auth/{mount}: the role id or the secret id is wrong or expired"
    )]
    LoginRefused {
        /// Where the method is mounted.
        mount: String,
    },
    /// The token is not accepted at all.
    #[error("Vault does not accept this server's token: it is wrong, has expired or was revoked")]
    TokenRefused,
    /// The token runs out and its life cannot be prolonged.
    #[error("this server's Vault token expires in {seconds} s and cannot be renewed")]
    TokenEnds {
        /// How long it still lives.
        seconds: u64,
    },
    /// The token is good, but not for this.
    #[error("this server's Vault token may not read {path}")]
    Denied {
        /// What.
        path: String,
    },
    /// No secrets engine is there.
    #[error("Vault has no secrets engine at {path}")]
    NoMount {
        /// Where.
        path: String,
    },
    /// The namespace is not there, or not for this token.
    #[error("Vault has no namespace {namespace} for this server's token")]
    Namespace {
        /// Which.
        namespace: String,
    },
    /// The secrets engine keeps no versions.
    #[error("the secrets engine at {mount} is KV version 1")]
    KvV1 {
        /// Which.
        mount: String,
    },
    /// The secrets engine is another one.
    #[error("the secrets engine at {mount} is not KV")]
    NotKv {
        /// Which.
        mount: String,
    },
    /// There is nothing at the path.
    #[error("the credential {path} does not exist in Vault")]
    Missing {
        /// Which.
        path: String,
    },
    /// Its newest version was deleted or destroyed.
    #[error("the newest version of {path} in Vault was deleted")]
    Deleted {
        /// Which.
        path: String,
    },
    /// What is there is not a map of texts.
    #[error("the credential {path} in Vault is not a map of text values")]
    Shape {
        /// Which.
        path: String,
    },
    /// This server keeps to a part of Vault, and the path is not in it.
    #[error("the credential {path} is outside {prefix}, this server's --vault-prefix")]
    Outside {
        /// Which.
        path: String,
        /// Where it would have to be.
        prefix: String,
    },
    /// It was not said where credentials are, so there is nothing to list.
    #[error("this server has no --vault-prefix")]
    NoPrefix,
    /// Larger than any credential.
    #[error("Vault's response for {path} is too large")]
    TooLarge {
        /// What was asked.
        path: String,
    },
    /// Something else.
    #[error("Vault returned status {status} for {path}")]
    Answer {
        /// The HTTP status.
        status: u16,
        /// What was asked.
        path: String,
    },
}

impl VaultError {
    /// A stable word for scripts.
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
            VaultError::TokenEnds { .. } => "vault-token-ends",
            VaultError::Denied { .. } => "vault-denied",
            VaultError::NoMount { .. } => "vault-mount-missing",
            VaultError::Namespace { .. } => "vault-namespace",
            VaultError::KvV1 { .. } => "vault-kv-v1",
            VaultError::NotKv { .. } => "vault-not-kv",
            VaultError::Missing { .. } => "credential-missing",
            VaultError::Deleted { .. } => "vault-version-deleted",
            VaultError::Shape { .. } => "credential-shape",
            VaultError::Outside { .. } => "credential-path",
            VaultError::NoPrefix => "vault-prefix-missing",
            VaultError::TooLarge { .. } => "vault-too-large",
            VaultError::Answer { .. } => "vault-answer",
        }
    }

    /// Whether it concerns Vault as a whole and not one credential.
    pub(crate) fn is_general(&self) -> bool {
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
            | VaultError::TokenEnds { .. }
            | VaultError::Namespace { .. } => true,
            VaultError::Denied { .. }
            | VaultError::NoMount { .. }
            | VaultError::KvV1 { .. }
            | VaultError::NotKv { .. }
            | VaultError::Missing { .. }
            | VaultError::Deleted { .. }
            | VaultError::Shape { .. }
            | VaultError::Outside { .. }
            | VaultError::NoPrefix
            | VaultError::TooLarge { .. }
            | VaultError::Answer { .. } => false,
        }
    }

    /// What to do about it.
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
            VaultError::TokenEnds { .. } => "create a renewable or periodic token, or log in with AppRole",
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
            VaultError::Shape { .. } => "store username and password, token, or ssh_key there, each as text",
            VaultError::Outside { .. } => "store it under --vault-prefix, or fix the path",
            VaultError::NoPrefix => "start the server with --vault-prefix",
            VaultError::TooLarge { .. } => "store one credential per path",
            VaultError::Answer { .. } => "see Vault's log, and check that --vault-addr is a Vault",
        }
    }
}

/// Why Vault cannot be used as it was configured.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SettingsError {
    /// The address is not one.
    #[error("the address of Vault must be https://host[:port], without user, password, query or fragment")]
    Address,
    /// A token would cross the network for all to see.
    #[error("Vault's address is http://, which is allowed only on this machine")]
    Plain,
    /// The authority's certificate is not one.
    #[error("the CA certificate for Vault is not in PEM format")]
    Authority,
    /// The namespace is not one.
    #[error("not a Vault namespace")]
    Namespace,
    /// The prefix is not the path of something.
    #[error("not a Vault path")]
    Prefix,
    /// No client could be made.
    #[error("cannot set up TLS on this machine")]
    Client,
}
