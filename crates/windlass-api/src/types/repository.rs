//! Repositories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::repository::{LastStatus, RepositoryStatus};

use crate::word::Word;

/// A repository to register or change.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepositoryBody {
    /// The repository.
    pub gitops_repository: RepositoryFields,
}

/// A repository's settings. Fields not given get their default when registering and stay unchanged when changing. An
/// empty text removes an optional setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepositoryFields {
    /// Its name, unique in the account. Default: the last part of the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its URL: `https://…`, `ssh://…` or `git@host:path`, without credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo_url: Option<String>,
    /// The branch to follow. Default `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The directory of fleet.yaml, relative. Default the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_prefix: Option<String>,
    /// The path of its credential.
    #[serde(default, alias = "ssh_credential_id", skip_serializing_if = "Option::is_none")]
    pub vault_credential_path: Option<String>,
    /// A certificate authority (PEM) to trust for this repository, in addition to the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_pem: Option<String>,
    /// Allowed signers: public keys (OpenSSH lines or armoured OpenPGP), one of which must have signed the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_signers: Option<String>,
    /// Whether it syncs automatically. Default yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether creates and updates are applied without approval. Default no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_apply: Option<bool>,
    /// Seconds between syncs, 10 to 86400. Default 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconcile_interval_seconds: Option<u64>,
    /// Reporting to its forge. Default when registering: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge: Option<super::ForgeFields>,
}

/// A registered repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryInfo {
    /// Its id.
    pub id: String,
    /// Its account's id.
    pub account_id: String,
    /// Its name.
    pub name: String,
    /// Its URL.
    pub repo_url: String,
    /// The branch that is followed.
    pub branch: String,
    /// The directory of fleet.yaml.
    pub path_prefix: String,
    /// The path of its credential.
    pub vault_credential_path: Option<String>,
    /// The keys that the credential must have, for the URL's scheme.
    pub required_credential_keys: Vec<String>,
    /// Whether it has its own certificate authority.
    pub has_ca: bool,
    /// Whether commits must be signed.
    pub requires_signature: bool,
    /// Fingerprints of the pinned SSH host keys.
    pub host_key_fingerprints: Vec<String>,
    /// Whether it syncs automatically.
    pub enabled: bool,
    /// Whether creates and updates are applied without approval.
    pub auto_apply: bool,
    /// Seconds between syncs.
    pub reconcile_interval_seconds: u64,
    /// Its status.
    #[schemars(with = "Word<RepositoryStatus>")]
    pub status: RepositoryStatus,
    /// How the last run ended.
    #[schemars(with = "Word<LastStatus>")]
    pub last_status: LastStatus,
    /// Why the last run failed.
    pub last_error: Option<String>,
    /// The last run.
    pub last_run_id: Option<String>,
    /// When it ended.
    pub last_synced_at: Option<String>,
    /// The commit of the last successful run.
    pub last_synced_revision: Option<String>,
    /// When the next run is due.
    pub next_sync_at: Option<String>,
    /// Reporting to its forge; null if none.
    #[serde(default)]
    pub forge: Option<super::ForgeInfo>,
    /// Work that is quarantined because the server crashed on it twice, until someone releases it.
    #[serde(default)]
    pub quarantines: Vec<QuarantineInfo>,
    /// For `If-Match`.
    pub version: i64,
    /// When it was registered.
    pub created_at: String,
    /// When its configuration was last changed.
    pub updated_at: String,
}

/// Quarantined work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuarantineInfo {
    /// Which work.
    pub of: QuarantinedWork,
    /// The reason.
    pub reason: String,
    /// Since when.
    pub since: String,
}

/// What can be quarantined of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuarantinedWork {
    /// Syncing it.
    Sync,
    /// Planning its pull requests.
    PullRequests,
    /// Work on request: previews, tests, and adopting the accepted state.
    Requests,
}

/// A repository under its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryEnvelope {
    /// The repository.
    pub gitops_repository: RepositoryInfo,
}

/// The repositories of an account.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryList {
    /// By name.
    pub gitops_repositories: Vec<RepositoryInfo>,
}

/// A move of a repository to another account.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveBody {
    /// Id or name of the new account.
    pub account: String,
}

/// The result of a connection test, step by step.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryTest {
    /// Whether every step passed.
    pub ok: bool,
    /// In the order in which they depend on each other.
    pub checks: Vec<CheckInfo>,
}

/// One step of a connection test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckInfo {
    /// `credential`, `dns`, `connect`, `tls`, `host_key`, `auth`, `branch`, `signature`, `prefix`, `file`
    /// or `forge`.
    pub step: String,
    /// Its outcome.
    pub outcome: CheckOutcome,
    /// The finding, in words.
    pub message: String,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
}

/// The outcome of a step of a connection test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// An earlier step failed, or it does not apply.
    NotReached,
}
