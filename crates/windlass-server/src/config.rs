//! What a server is started with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use windlass_core::address_guard::{AddressRules, AllowedAddress, PrivateAddresses};
use windlass_core::inbound::forwarded::TrustedProxies;
use windlass_core::plan::DEFAULT_CAP;
use windlass_notify::Plain;
use windlass_secrets::{Credentials, SettingsError, Vault, VaultSettings};
use windlass_source::{Insecure, Limits};
use windlass_store::Address;

use crate::checkpoint::CheckpointSettings;
use crate::connections::{Timeouts, TlsFiles};
use crate::forge::Gitea;
use crate::keys::KeySource;
use crate::oidc::OidcSettings;

/// Everything that can be configured.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where mirrors of repositories and the embedded database are.
    pub data_dir: PathBuf,
    /// Which database.
    pub database: Address,
    /// Where the secret key comes from.
    pub secret_key: KeySource,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The certificate and key with which it speaks TLS itself, if it does.
    pub tls: Option<TlsFiles>,
    /// The proxies whose word counts about where requests come from.
    pub trusted_proxies: TrustedProxies,
    /// How many connections may be open; if not given, as many as the limit of open files allows.
    pub max_connections: Option<usize>,
    /// How long clients may take.
    pub timeouts: Timeouts,
    /// Where browsers reach it, if not where it listens: `https://windlass.example.com`.
    pub public_url: Option<String>,
    /// Other names by which MCP clients may reach it, beside those that are known: see `mcp::place`.
    pub mcp_hosts: Vec<String>,
    /// Whether `http://` and `file://` repositories may be registered.
    pub insecure_git: Insecure,
    /// Whether notifications may go to this machine itself, and there without TLS.
    pub insecure_notifications: Plain,
    /// Addresses that accounts may have the server connect to although they would be refused.
    pub allowed_addresses: Vec<AllowedAddress>,
    /// Whether accounts may have the server connect to private networks.
    pub private_addresses: PrivateAddresses,
    /// When a test is answered whose host cannot be reached: no sooner, so that the time does not tell closed ports from
    /// those that a firewall hides.
    pub unreached_after: Duration,
    /// Where credentials are kept.
    pub credentials: Credentials,
    /// Hosts of forges' APIs, as `host` or `host:port`, that tokens may be sent to beside the repositories' own.
    pub forge_api_hosts: Vec<String>,
    /// The Gitea in which repositories are made on request.
    pub gitea: Option<Gitea>,
    /// Through which provider people sign in, if through any.
    pub oidc: Option<OidcSettings>,
    /// How the audit log is signed, and where that is sent.
    pub checkpoints: CheckpointSettings,
    /// How many proposals a run opens at most.
    pub max_proposals: usize,
    /// What a fetch may cost.
    pub fetch_limits: Limits,
    /// How often things are looked at.
    pub rhythm: Rhythm,
    /// The account made at the first start.
    pub first_account: String,
    /// The e-mail address of the administrator made at the first start.
    pub first_admin: String,
}

/// How often things are looked at by themselves. A nudge wakes each earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rhythm {
    /// Whether repositories are due; also bounds how late another replica's requests are seen.
    pub schedule: Duration,
    /// Whether something approved can be applied.
    pub apply: Duration,
    /// Whether the accepted state is still what git last said.
    pub drift: Duration,
    /// Whether something happened that alerts tell, or a notification is due.
    pub notifications: Duration,
    /// Whether something expired, and what can be forgotten.
    pub housekeeping: Duration,
    /// Whether the TLS certificate was replaced.
    pub certificates: Duration,
    /// How long a person has to decide about a proposal.
    pub proposal_lifetime: Duration,
}

impl Default for Rhythm {
    fn default() -> Rhythm {
        Rhythm {
            schedule: Duration::from_secs(5),
            apply: Duration::from_secs(10),
            drift: Duration::from_secs(60),
            notifications: Duration::from_secs(2),
            housekeeping: Duration::from_secs(60),
            certificates: Duration::from_secs(5),
            proposal_lifetime: Duration::from_secs(72 * 3600),
        }
    }
}

impl Config {
    /// How the server itself is spoken to.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Where browsers and forges reach a server that listens at an address.
    pub fn origin_at(&self, address: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("{}://{address}", self.scheme()))
    }

    /// A server with its data in this directory and everything else as it is by default.
    pub fn in_directory(data_dir: impl Into<PathBuf>) -> Config {
        let data_dir = data_dir.into();
        Config {
            database: Address::Sqlite(data_dir.join("windlass.db")),
            data_dir,
            secret_key: KeySource::DataDirectory,
            listen: SocketAddr::from(([127, 0, 0, 1], 3000)),
            tls: None,
            trusted_proxies: TrustedProxies::default(),
            max_connections: None,
            timeouts: Timeouts::default(),
            public_url: None,
            mcp_hosts: Vec::new(),
            insecure_git: Insecure::Refused,
            insecure_notifications: Plain::Refused,
            allowed_addresses: Vec::new(),
            private_addresses: PrivateAddresses::default(),
            unreached_after: windlass_source::TEST_CONNECT_WITHIN,
            credentials: Credentials::Nowhere,
            forge_api_hosts: Vec::new(),
            gitea: None,
            oidc: None,
            checkpoints: CheckpointSettings::default(),
            max_proposals: DEFAULT_CAP,
            fetch_limits: Limits::default(),
            rhythm: Rhythm::default(),
            first_account: "default".to_owned(),
            first_admin: "admin@localhost".to_owned(),
        }
    }

    /// What accounts may have the server connect to.
    pub(crate) fn address_rules(&self) -> AddressRules {
        AddressRules::new(self.allowed_addresses.clone(), self.private_addresses)
    }

    /// The same for the APIs of forges, some of which the operator named.
    pub(crate) fn forge_address_rules(&self) -> AddressRules {
        let named = self.forge_api_hosts.iter().filter_map(|host| AllowedAddress::parse(host));
        self.address_rules().allowing(named)
    }
}

/// Credentials kept in files below a directory.
pub fn credentials_in(directory: &std::path::Path) -> Credentials {
    Credentials::Directory(windlass_secrets::Directory::new(directory))
}

/// Credentials kept in Vault. Nothing is asked of it yet.
pub fn credentials_in_vault(settings: VaultSettings) -> Result<Credentials, SettingsError> {
    Vault::new(settings).map(Credentials::Vault)
}
