//! Quarantine: limits how often work is tried that crashes the server.
//!
//! An attempt is counted before the work starts and uncounted after it ends in any way. So the count is the number of
//! crashes during the work. After the first crash any work that was running may have been the cause, so each is tried
//! again alone; if the server crashes then, the work is the cause and is quarantined until someone releases it. Work
//! that is tried alone delays all other work, so the number of such attempts is limited: work that does not succeed in
//! them is quarantined too.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::{AccountId, RepositoryId};

/// The number of crashes until quarantine.
pub const CRASHES_TO_QUARANTINE: i64 = 2;

/// The number of unsuccessful attempts alone until quarantine.
pub const ATTEMPTS_ALONE_TO_QUARANTINE: i64 = 2;

/// The crash history of some work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrashHistory {
    /// How often a server crashed during it.
    pub deaths: i64,
    /// How often it was tried alone since then, without success.
    pub tries_alone: i64,
}

/// The work whose crashes are counted separately. Only one server at a time works on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkSubject<'s> {
    /// Syncs of the repository with this id, in any run.
    Sync(&'s RepositoryId),
    /// A pull request of a repository. Its number stays the same when it gets other commits: the same person pushes
    /// them.
    PullRequest(&'s RepositoryId, i64),
    /// Requests of people about a repository.
    Requests(&'s RepositoryId),
    /// A connection test, in an account, of a repository that is not registered.
    Test {
        /// The account's id.
        account: &'s AccountId,
        /// The repository's URL.
        url: &'s str,
    },
}

impl WorkSubject<'_> {
    /// The key in the store, and the name of the lease.
    pub fn key(&self) -> String {
        match self {
            WorkSubject::Sync(repository) => format!("sync:{repository}"),
            WorkSubject::PullRequest(repository, number) => format!("pull-request:{repository}:{number}"),
            WorkSubject::Requests(repository) => format!("requests:{repository}"),
            WorkSubject::Test { account, url } => format!("test:{account}:{}", Digest::of(url.as_bytes())),
        }
    }
}

/// How work may be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustLevel {
    /// In parallel with other work.
    Trusted,
    /// Alone: a server crashed at the last attempt.
    Suspected,
    /// Not at all.
    Quarantined,
}

/// How an attempt ended without a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkEnd {
    /// The content of others was read completely, whatever was found.
    ReadThrough,
    /// It failed before that.
    Failed,
    /// It was not really tried: the server stops, or its database failed.
    Untried,
}

impl CrashHistory {
    /// How the work may be run.
    pub fn trust_level(self) -> TrustLevel {
        match self {
            CrashHistory { deaths: ..=0, .. } => TrustLevel::Trusted,
            CrashHistory { deaths: CRASHES_TO_QUARANTINE.., .. } => TrustLevel::Quarantined,
            CrashHistory { tries_alone: ATTEMPTS_ALONE_TO_QUARANTINE.., .. } => TrustLevel::Quarantined,
            _ => TrustLevel::Suspected,
        }
    }

    /// The history after an attempt without a crash.
    pub fn after_attempt(self, end: WorkEnd) -> CrashHistory {
        match (self.trust_level(), end) {
            (TrustLevel::Trusted, _) | (_, WorkEnd::ReadThrough) => CrashHistory::default(),
            (_, WorkEnd::Failed) => CrashHistory { tries_alone: self.tries_alone + 1, ..self },
            (_, WorkEnd::Untried) => self,
        }
    }

    /// Why work is quarantined, for display; `doing` names the work.
    pub fn reason(self, doing: &str) -> String {
        match self.deaths {
            CRASHES_TO_QUARANTINE.. => {
                format!("the server crashed twice while {doing}, the second time with no other work running")
            }
            _ => format!(
                "the server crashed while {doing}, and {} attempts without other work did not finish",
                self.tries_alone
            ),
        }
    }
}

/// The reason and time of a quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    /// What happened, for display.
    pub reason: String,
    /// The time of the quarantine, in milliseconds since 1970.
    pub since_ms: i64,
}

/// The kinds of work on a repository that are quarantined separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuarantinableWork {
    /// Syncs.
    Sync,
    /// Previews of its pull requests, all of them: whoever opens one can open another.
    PullRequests,
    /// Requests of people: previews, tests, and changes that adopt the accepted state.
    Requests,
}

/// The quarantines of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantines {
    /// Of syncs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<Quarantine>,
    /// Of pull-request previews.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_requests: Option<Quarantine>,
    /// Of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Quarantine>,
}

impl Quarantines {
    /// Whether there is no quarantine.
    pub fn is_empty(&self) -> bool {
        self.any().is_none()
    }

    /// Any of them: enough not to read the repository for a request.
    pub fn any(&self) -> Option<&Quarantine> {
        self.sync.as_ref().or(self.pull_requests.as_ref()).or(self.requests.as_ref())
    }

    /// The quarantine of some work.
    pub fn of(&self, work: QuarantinableWork) -> Option<&Quarantine> {
        match work {
            QuarantinableWork::Sync => self.sync.as_ref(),
            QuarantinableWork::PullRequests => self.pull_requests.as_ref(),
            QuarantinableWork::Requests => self.requests.as_ref(),
        }
    }

    /// Adds a quarantine.
    pub fn with(mut self, work: QuarantinableWork, quarantine: Quarantine) -> Quarantines {
        let place = match work {
            QuarantinableWork::Sync => &mut self.sync,
            QuarantinableWork::PullRequests => &mut self.pull_requests,
            QuarantinableWork::Requests => &mut self.requests,
        };
        *place = Some(quarantine);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(deaths: i64, tries_alone: i64) -> CrashHistory {
        CrashHistory { deaths, tries_alone }
    }

    #[test]
    fn one_death_makes_a_suspect_and_two_are_enough() {
        assert_eq!([-1, 0].map(|deaths| history(deaths, 9).trust_level()), [TrustLevel::Trusted; 2]);
        assert_eq!(history(1, 0).trust_level(), TrustLevel::Suspected);
        assert_eq!([2, 3, i64::MAX].map(|it| history(it, 0).trust_level()), [TrustLevel::Quarantined; 3]);
        assert!(history(2, 0).reason("syncing it").contains("crashed twice while syncing it"));
    }

    #[test]
    fn suspected_work_delays_other_work_at_most_twice() {
        let first = history(1, 0).after_attempt(WorkEnd::Failed);
        assert_eq!(first.trust_level(), TrustLevel::Suspected);
        assert_eq!(first.after_attempt(WorkEnd::Untried), first, "what was not tried counts neither way");
        let second = first.after_attempt(WorkEnd::Failed);
        assert_eq!(second.trust_level(), TrustLevel::Quarantined);
        assert!(second.reason("syncing it").contains("2 attempts without other work did not finish"));
    }

    #[test]
    fn what_was_read_through_is_innocent_and_failures_of_the_trusted_are_nothing() {
        assert_eq!(history(1, 1).after_attempt(WorkEnd::ReadThrough), CrashHistory::default());
        for end in [WorkEnd::ReadThrough, WorkEnd::Failed, WorkEnd::Untried] {
            assert_eq!(CrashHistory::default().after_attempt(end), CrashHistory::default());
        }
    }

    #[test]
    fn what_is_stored_reads_back_and_nothing_is_nothing() {
        let held = Quarantine { reason: "it died".to_owned(), since_ms: 7 };
        for work in [QuarantinableWork::Sync, QuarantinableWork::PullRequests, QuarantinableWork::Requests] {
            let stored = Quarantines::default().with(work, held.clone());
            let text = serde_json::to_string(&stored).unwrap();
            assert_eq!(serde_json::from_str::<Quarantines>(&text).unwrap(), stored);
            assert_eq!((stored.of(work), stored.any()), (Some(&held), Some(&held)));
        }
        assert!(serde_json::from_str::<Quarantines>("{}").unwrap().is_empty());
    }
}
