//! What the control plane is started with.

pub mod checkpoints;
pub mod gitea;

use std::path::PathBuf;
use std::time::Duration;

use windlass_core::address_guard::{AddressRules, AllowedAddress, PrivateAddresses};
use windlass_core::plan::DEFAULT_CAP;
use windlass_notify::PlaintextPolicy;
use windlass_secrets::{CredentialStore, SettingsError, Vault, VaultSettings};
use windlass_source::{FetchLimits, InsecureUrls};

use crate::config::checkpoints::CheckpointSettings;
use crate::config::gitea::Gitea;

/// What can be configured of the control plane, however it is asked.
#[derive(Clone, Debug)]
pub struct ControlConfig {
    /// Where mirrors of repositories and the embedded database are.
    pub data_dir: PathBuf,
    /// Where browsers reach it, if not where it listens: `https://windlass.example.com`.
    pub public_url: Option<String>,
    /// Whether `http://` and `file://` repositories may be registered.
    pub insecure_git: InsecureUrls,
    /// Whether notifications may go to this machine itself, and there without TLS.
    pub insecure_notifications: PlaintextPolicy,
    /// Addresses that accounts may have the server connect to although they would be refused.
    pub allowed_addresses: Vec<AllowedAddress>,
    /// Whether accounts may have the server connect to private networks.
    pub private_addresses: PrivateAddresses,
    /// When a test is answered whose host cannot be reached: no sooner, so that the time does not tell closed ports from
    /// those that a firewall hides.
    pub unreached_after: Duration,
    /// Where credentials are kept.
    pub credentials: CredentialStore,
    /// Hosts of forges' APIs, as `host` or `host:port`, that tokens may be sent to beside the repositories' own.
    pub forge_api_hosts: Vec<String>,
    /// The Gitea in which repositories are made on request.
    pub gitea: Option<Gitea>,
    /// How the audit log is signed, and where that is sent.
    pub checkpoints: CheckpointSettings,
    /// How many proposals a run opens at most.
    pub max_proposals: usize,
    /// What a fetch may cost.
    pub fetch_limits: FetchLimits,
    /// How often things are looked at.
    pub intervals: Intervals,
}

/// How often things are looked at by themselves. A nudge wakes each earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
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
    /// How long a person has to decide about a proposal.
    pub proposal_lifetime: Duration,
}

impl Default for Intervals {
    fn default() -> Intervals {
        Intervals {
            schedule: Duration::from_secs(5),
            apply: Duration::from_secs(10),
            drift: Duration::from_secs(60),
            notifications: Duration::from_secs(2),
            housekeeping: Duration::from_secs(60),
            proposal_lifetime: Duration::from_secs(72 * 3600),
        }
    }
}

impl ControlConfig {
    /// A control plane with its data in this directory and everything else as it is by default.
    pub fn in_directory(data_dir: impl Into<PathBuf>) -> ControlConfig {
        ControlConfig {
            data_dir: data_dir.into(),
            public_url: None,
            insecure_git: InsecureUrls::Refused,
            insecure_notifications: PlaintextPolicy::Refused,
            allowed_addresses: Vec::new(),
            private_addresses: PrivateAddresses::default(),
            unreached_after: windlass_source::TEST_CONNECT_TIMEOUT,
            credentials: CredentialStore::Nowhere,
            forge_api_hosts: Vec::new(),
            gitea: None,
            checkpoints: CheckpointSettings::default(),
            max_proposals: DEFAULT_CAP,
            fetch_limits: FetchLimits::default(),
            intervals: Intervals::default(),
        }
    }

    /// What accounts may have the server connect to.
    pub fn address_rules(&self) -> AddressRules {
        AddressRules::new(self.allowed_addresses.clone(), self.private_addresses)
    }

    /// The same for the APIs of forges, some of which the operator named.
    pub(crate) fn forge_address_rules(&self) -> AddressRules {
        let named = self.forge_api_hosts.iter().filter_map(|host| AllowedAddress::parse(host));
        self.address_rules().with_allowed(named)
    }
}

/// Credentials kept in files below a directory.
pub fn credentials_in(directory: &std::path::Path) -> CredentialStore {
    CredentialStore::Directory(windlass_secrets::CredentialDirectory::new(directory))
}

/// Credentials kept in Vault. Nothing is asked of it yet.
pub fn credentials_in_vault(settings: VaultSettings) -> Result<CredentialStore, SettingsError> {
    Vault::new(settings).map(CredentialStore::Vault)
}
