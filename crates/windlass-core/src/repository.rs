//! Registered repositories: their settings, and the results of their last runs.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::forge::ForgeKind;
use crate::gate::{AutoApply, FailedSync, RepositoryIdentity, RepositorySettings};
use crate::id::{AccountId, RepositoryId, RunId};
use crate::quarantine::Quarantines;
use crate::run_status::RunStatus;
use crate::states::{self, Spelled, states};
use crate::time::Timestamp;

/// A registered repository: its settings, and the results of its last runs.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Its id.
    pub id: RepositoryId,
    /// Its account.
    pub account_id: AccountId,
    /// Its name, unique in the account.
    pub name: String,
    /// Its URL, without credentials.
    pub repo_url: String,
    /// The branch that is synced.
    pub branch: String,
    /// The directory of fleet.yaml; empty for the root.
    pub path_prefix: String,
    /// The path of its credential.
    pub credential_path: Option<String>,
    /// A certificate authority to trust in addition to the system's.
    pub ca_pem: Option<String>,
    /// The keys, one of which must have signed the commit.
    pub signers: Option<String>,
    /// The pinned SSH host keys.
    pub host_keys: Option<String>,
    /// Whether it is synced automatically.
    pub enabled: bool,
    /// Whether creates and updates need no approval.
    pub auto_apply: bool,
    /// The interval of automatic syncs.
    pub interval: Duration,
    /// The time of the next sync.
    pub next_sync_at: Timestamp,
    /// The last run.
    pub last_run_id: Option<RunId>,
    /// The end of the last run.
    pub last_run_at: Option<Timestamp>,
    /// The status of the last run.
    pub last_status: LastStatus,
    /// Why the last run failed.
    pub last_error: Option<String>,
    /// The last run that completed the comparison.
    pub good_run_id: Option<RunId>,
    /// The commit of that run.
    pub good_commit: Option<String>,
    /// The end of that run.
    pub good_at: Option<Timestamp>,
    /// The number of changes of the settings.
    pub version: i64,
    /// The time of its registration.
    pub created_at: Timestamp,
    /// The time of the last change of its settings.
    pub updated_at: Timestamp,
    /// The settings of status reporting to its forge.
    pub forge: Option<ForgeSettings>,
    /// Why the last report to its forge failed.
    pub forge_error: Option<String>,
    /// The repository that moved to another account and left this one behind, with the resources it owned here. It is
    /// never fetched and declares nothing.
    pub left_by: Option<RepositoryId>,
    /// Work on it that is quarantined, because servers crashed.
    pub quarantines: Quarantines,
    /// The failed run that someone confirmed, so that it does not hold proposals.
    pub confirmed_failure: Option<RunId>,
}

/// How to reach the forge of a repository, and what to report. The token is stored elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgeSettings {
    /// The kind of forge.
    pub kind: ForgeKind,
    /// The URL of its API, if it differs from the one derived from the repository's URL.
    pub api_url: Option<String>,
    /// `owner/name`, if it differs from the repository's URL.
    pub project: Option<String>,
    /// The path of the token, if it is not in the repository's credential.
    pub credential_path: Option<String>,
    /// Whether commits get a status.
    pub commit_status: bool,
    /// Whether pull requests get a comment.
    pub comment: bool,
    /// Whether pull requests from other repositories get a preview.
    #[serde(default)]
    pub previews_of_forks: bool,
}

states! {
    /// The status of a repository.
    RepositoryStatus {
        /// The last run succeeded.
        Ok "ok" "OK",
        /// Its first run has not finished.
        Syncing "syncing" "Syncing",
        /// The last run failed.
        Failed "failed" "Failed",
        /// It does not sync automatically.
        Disabled "disabled" "Disabled",
        /// Syncing stopped because the server crashed on it twice, until someone releases it.
        Quarantined "quarantined" "Quarantined",
    }
}

/// The status of the last run of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LastStatus {
    /// No run has ended yet.
    Pending,
    /// The status with which it ended.
    Ended(RunStatus),
}

impl LastStatus {
    /// The spelling in the API and the database.
    pub const fn slug(self) -> &'static str {
        match self {
            LastStatus::Pending => "pending",
            LastStatus::Ended(status) => status.slug(),
        }
    }

    /// The status with this spelling.
    pub fn from_slug(slug: &str) -> Option<LastStatus> {
        states::read(slug).ok()
    }
}

/// The words of run statuses, and one for the time before the first run.
impl Spelled for LastStatus {
    const NAME: &'static str = "LastStatus";
    const ABOUT: &'static str = "The result of a repository's last run.";
    const WORDS: &'static [LastStatus] = &[
        LastStatus::Pending,
        LastStatus::Ended(RunStatus::InProgress),
        LastStatus::Ended(RunStatus::Success),
        LastStatus::Ended(RunStatus::DiffReady),
        LastStatus::Ended(RunStatus::Partial),
        LastStatus::Ended(RunStatus::Failed),
        LastStatus::Ended(RunStatus::Applied),
        LastStatus::Ended(RunStatus::AppliedManually),
    ];

    fn spelling(self) -> &'static str {
        self.slug()
    }

    fn meaning(self) -> &'static str {
        match self {
            LastStatus::Pending => "No run has finished yet.",
            LastStatus::Ended(status) => status.meaning(),
        }
    }
}

impl Serialize for LastStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.slug())
    }
}

impl<'de> Deserialize<'de> for LastStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LastStatus, D::Error> {
        states::deserialize(deserializer)
    }
}

/// The default interval of automatic syncs.
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(300);

impl Repository {
    /// A newly registered repository with default settings.
    pub fn new(
        id: RepositoryId,
        account_id: &AccountId,
        (name, url): (&str, &str),
        now: Timestamp,
    ) -> Repository {
        Repository {
            id,
            account_id: account_id.clone(),
            name: name.to_owned(),
            repo_url: url.to_owned(),
            branch: "main".to_owned(),
            path_prefix: String::new(),
            credential_path: None,
            ca_pem: None,
            signers: None,
            host_keys: None,
            enabled: true,
            auto_apply: false,
            interval: DEFAULT_INTERVAL,
            next_sync_at: now,
            last_run_id: None,
            last_run_at: None,
            last_status: LastStatus::Pending,
            last_error: None,
            good_run_id: None,
            good_commit: None,
            good_at: None,
            version: 1,
            created_at: now,
            updated_at: now,
            forge: None,
            forge_error: None,
            left_by: None,
            quarantines: Quarantines::default(),
            confirmed_failure: None,
        }
    }

    /// Its status.
    pub fn status(&self) -> RepositoryStatus {
        match (self.enabled, self.last_status) {
            _ if self.quarantines.sync.is_some() => RepositoryStatus::Quarantined,
            (false, _) => RepositoryStatus::Disabled,
            (_, LastStatus::Pending) => RepositoryStatus::Syncing,
            (_, LastStatus::Ended(RunStatus::Failed)) => RepositoryStatus::Failed,
            (_, LastStatus::Ended(_)) => RepositoryStatus::Ok,
        }
    }

    /// Its identity for the gate.
    pub fn identity(&self) -> RepositoryIdentity<'_> {
        RepositoryIdentity { id: &self.id, name: &self.name }
    }

    /// The settings that decide what is approved without people.
    pub fn trusted_settings(&self) -> RepositorySettings<'_> {
        RepositorySettings {
            identity: self.identity(),
            url: &self.repo_url,
            branch: &self.branch,
            path_prefix: &self.path_prefix,
            signers: self.signers.as_deref(),
            credential: self.credential_path.as_deref(),
            ca: self.ca_pem.as_deref(),
            host_keys: self.host_keys.as_deref(),
            is_enabled: self.enabled,
            auto_apply: self.auto_apply,
        }
    }

    /// Whether its creates and updates need no approval.
    pub fn auto_apply(&self) -> AutoApply {
        if self.auto_apply { AutoApply::On } else { AutoApply::Off }
    }

    /// Whether two versions of its settings read the same commits in the same way.
    pub fn has_same_source(&self, other: &Repository) -> bool {
        fn source(it: &Repository) -> (&str, &str, &str, Option<&str>) {
            (&it.repo_url, &it.branch, &it.path_prefix, it.signers.as_deref())
        }
        source(self) == source(other)
    }

    /// The failure of the last sync; `None` if it succeeded, or if someone confirmed this run's failure.
    pub fn failed_sync(&self) -> Option<FailedSync> {
        let reason =
            self.last_error.as_ref().filter(|_| self.last_status == LastStatus::Ended(RunStatus::Failed))?;
        let is_confirmed = self.last_run_id.is_some() && self.confirmed_failure == self.last_run_id;
        (!is_confirmed).then(|| FailedSync { repository: self.name.clone(), reason: reason.clone() })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A repository with default settings.
    pub(crate) fn repository(id: &str) -> Repository {
        let place = (id, "https://git.example.com/fleet");
        Repository::new(RepositoryId::new(id), &AccountId::new("acme"), place, Timestamp::from_millis(0))
    }

    #[test]
    fn a_failed_sync_holds_until_that_very_failure_is_confirmed() {
        let fine = repository("core");
        assert_eq!(fine.failed_sync(), None);
        let failed = Repository {
            last_status: LastStatus::Ended(RunStatus::Failed),
            last_error: Some("no such branch".to_owned()),
            last_run_id: Some(RunId::new("7")),
            ..fine
        };
        assert_eq!(failed.failed_sync().map(|failed| failed.reason).as_deref(), Some("no such branch"));
        let of_another = Repository { confirmed_failure: Some(RunId::new("6")), ..failed.clone() };
        assert!(of_another.failed_sync().is_some());
        let of_this = Repository { confirmed_failure: Some(RunId::new("7")), ..failed.clone() };
        assert!(of_this.failed_sync().is_none());
        // Without a run there is nothing to confirm.
        let unknown = Repository { last_run_id: None, ..failed };
        assert!(unknown.failed_sync().is_some());
    }

    #[test]
    fn what_is_read_depends_on_the_source_and_on_whose_signatures_are_demanded() {
        let one = repository("core");
        let same = Repository { name: "renamed".to_owned(), auto_apply: true, ..one.clone() };
        assert!(one.has_same_source(&same));
        let others = [
            Repository { repo_url: "https://git.example.com/other".to_owned(), ..one.clone() },
            Repository { branch: "next".to_owned(), ..one.clone() },
            Repository { path_prefix: "fleet".to_owned(), ..one.clone() },
            Repository { signers: Some("ada@example.com ssh-ed25519 AAAA".to_owned()), ..one.clone() },
        ];
        assert!(others.iter().all(|other| !one.has_same_source(other)));
    }
}
