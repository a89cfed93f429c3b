//! The configuration of the control plane.

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

/// The configuration of the control plane, for all its interfaces.
#[derive(Clone, Debug)]
pub struct ControlConfig {
    /// The directory of the mirrors of repositories and the embedded database.
    pub data_dir: PathBuf,
    /// The URL for browsers, if it differs from the listen address: `https://windlass.example.com`.
    pub public_url: Option<String>,
    /// The origin at which agents reach the agent listener: `https://windlass.example.com:3443`. None if this server does not
    /// listen for agents.
    pub agent_url: Option<String>,
    /// Whether `http://` and `file://` repositories may be registered.
    pub insecure_git: InsecureUrls,
    /// Whether notifications may be sent to this machine itself, also without TLS.
    pub insecure_notifications: PlaintextPolicy,
    /// Addresses that accounts may have the server connect to although the address guard would refuse them.
    pub allowed_addresses: Vec<AllowedAddress>,
    /// Whether accounts may have the server connect to private networks.
    pub private_addresses: PrivateAddresses,
    /// The least time that a test of an unreachable host takes, so that the time does not reveal whether a port is closed or
    /// behind a firewall.
    pub unreached_after: Duration,
    /// Where credentials are stored.
    pub credentials: CredentialStore,
    /// Hosts of forge APIs, as `host` or `host:port`, to which tokens may be sent in addition to the repositories' own hosts.
    pub forge_api_hosts: Vec<String>,
    /// The Gitea in which Windlass creates repositories on request.
    pub gitea: Option<Gitea>,
    /// How the audit log is signed, and where checkpoints are exported to.
    pub checkpoints: CheckpointSettings,
    /// The most proposals that a run opens.
    pub max_proposals: usize,
    /// The limits of a fetch.
    pub fetch_limits: FetchLimits,
    /// How often the loops run.
    pub intervals: Intervals,
}

/// How often the loops run. A nudge starts a turn earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// How often Windlass checks which repositories are due; also how late it sees another replica's requests at most.
    pub schedule: Duration,
    /// How often it checks whether approved proposals can be applied.
    pub apply: Duration,
    /// How often it compares the accepted state with the last desired state.
    pub drift: Duration,
    /// How often it checks for events that match alerts and for due notifications.
    pub notifications: Duration,
    /// How often it closes expired proposals and deletes old records.
    pub housekeeping: Duration,
    /// How long a proposal can be decided before it expires.
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
    /// A control plane with its data in this directory and defaults for everything else.
    pub fn in_directory(data_dir: impl Into<PathBuf>) -> ControlConfig {
        ControlConfig {
            data_dir: data_dir.into(),
            public_url: None,
            agent_url: None,
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

    /// The addresses that accounts may have the server connect to.
    pub fn address_rules(&self) -> AddressRules {
        AddressRules::new(self.allowed_addresses.clone(), self.private_addresses)
    }

    /// The same for the APIs of forges; includes the hosts that the operator allowed.
    pub(crate) fn forge_address_rules(&self) -> AddressRules {
        let named = self.forge_api_hosts.iter().filter_map(|host| AllowedAddress::parse(host));
        self.address_rules().with_allowed(named)
    }
}

/// Credentials in files below a directory.
pub fn credentials_in(directory: &std::path::Path) -> CredentialStore {
    CredentialStore::Directory(windlass_secrets::CredentialDirectory::new(directory))
}

/// Credentials in Vault. Sends no request to it yet.
pub fn credentials_in_vault(settings: VaultSettings) -> Result<CredentialStore, SettingsError> {
    Vault::new(settings).map(CredentialStore::Vault)
}
