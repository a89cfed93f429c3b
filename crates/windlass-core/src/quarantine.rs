//! Work that kills the server that does it: how often it may be tried.
//!
//! Beginnings are counted before the work and taken back after it, however it ends. What is left over is how often a server
//! died in the middle. After the first time anything that was under way may have been the cause, so each is tried again
//! with nothing beside it; whatever dies then is the cause, and is not tried again until someone says so. Tries alone keep
//! everybody else waiting, so they are few: whatever comes to no good end in them is not tried again either.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::{AccountId, RepositoryId};

/// So many deaths are enough.
pub const DEATHS_TO_QUARANTINE: i64 = 2;

/// So many tries with nothing beside them are enough.
pub const TRIES_ALONE_TO_QUARANTINE: i64 = 2;

/// What is held against work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrashHistory {
    /// How often a server died in the middle of it.
    pub deaths: i64,
    /// How often it was tried since with nothing beside it, and came to no good end.
    pub tries_alone: i64,
}

/// What is counted by itself. One server at a time works on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkSubject<'s> {
    /// Syncing the repository with this id, whichever run it is.
    Sync(&'s RepositoryId),
    /// A pull request of a repository. Its number stays when it gets other commits: whoever pushes those is who made the
    /// ones before.
    PullRequest(&'s RepositoryId, i64),
    /// What people ask for of a repository.
    Requests(&'s RepositoryId),
    /// A test, asked for in an account, of a repository that is not registered.
    Test {
        /// The account's id.
        account: &'s AccountId,
        /// Where the repository is.
        url: &'s str,
    },
}

impl WorkSubject<'_> {
    /// What the store counts it by, and under which name a server takes it.
    pub fn key(&self) -> String {
        match self {
            WorkSubject::Sync(repository) => format!("sync:{repository}"),
            WorkSubject::PullRequest(repository, number) => format!("pull-request:{repository}:{number}"),
            WorkSubject::Requests(repository) => format!("requests:{repository}"),
            WorkSubject::Test { account, url } => format!("test:{account}:{}", Digest::of(url.as_bytes())),
        }
    }
}

/// How work is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustLevel {
    /// Beside other work.
    Trusted,
    /// With nothing beside it: a server died when it was last tried.
    Suspected,
    /// Not at all.
    Quarantined,
}

/// How work ended that no server died of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkEnd {
    /// What others made was read from beginning to end, whatever was found.
    ReadThrough,
    /// It failed before.
    Failed,
    /// It was not really tried: the server stops, or its database failed.
    Untried,
}

impl CrashHistory {
    /// How to do the work.
    pub fn trust_level(self) -> TrustLevel {
        match self {
            CrashHistory { deaths: ..=0, .. } => TrustLevel::Trusted,
            CrashHistory { deaths: DEATHS_TO_QUARANTINE.., .. } => TrustLevel::Quarantined,
            CrashHistory { tries_alone: TRIES_ALONE_TO_QUARANTINE.., .. } => TrustLevel::Quarantined,
            _ => TrustLevel::Suspected,
        }
    }

    /// What is held against it after a try that no server died of.
    pub fn after_attempt(self, end: WorkEnd) -> CrashHistory {
        match (self.trust_level(), end) {
            (TrustLevel::Trusted, _) | (_, WorkEnd::ReadThrough) => CrashHistory::default(),
            (_, WorkEnd::Failed) => CrashHistory { tries_alone: self.tries_alone + 1, ..self },
            (_, WorkEnd::Untried) => self,
        }
    }

    /// Why work is quarantined, for people; `doing` says what work.
    pub fn reason(self, doing: &str) -> String {
        match self.deaths {
            DEATHS_TO_QUARANTINE.. => {
                format!("the server crashed twice while {doing}, the second time with no other work running")
            }
            _ => format!(
                "the server crashed while {doing}, and {} attempts without other work did not finish",
                self.tries_alone
            ),
        }
    }
}

/// Why something is not done any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    /// What happened, for people.
    pub reason: String,
    /// Since when, in milliseconds since 1970.
    pub since_ms: i64,
}

/// Work on a repository that can be quarantined by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuarantinableWork {
    /// Syncing it.
    Sync,
    /// Planning its pull requests, all of them: whoever opens one can open another.
    PullRequests,
    /// What people ask for: previews, tests, and changes that adopt the accepted state.
    Requests,
}

/// What of a repository is not done any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantines {
    /// Syncing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<Quarantine>,
    /// Planning its pull requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_requests: Option<Quarantine>,
    /// What people ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Quarantine>,
}

impl Quarantines {
    /// Whether everything is done.
    pub fn is_empty(&self) -> bool {
        self.any().is_none()
    }

    /// Any of them: reason enough not to read anything of the repository because someone asks for it.
    pub fn any(&self) -> Option<&Quarantine> {
        self.sync.as_ref().or(self.pull_requests.as_ref()).or(self.requests.as_ref())
    }

    /// The one of some work.
    pub fn of(&self, work: QuarantinableWork) -> Option<&Quarantine> {
        match work {
            QuarantinableWork::Sync => self.sync.as_ref(),
            QuarantinableWork::PullRequests => self.pull_requests.as_ref(),
            QuarantinableWork::Requests => self.requests.as_ref(),
        }
    }

    /// The same and one more.
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

    fn suspicion(deaths: i64, tries_alone: i64) -> CrashHistory {
        CrashHistory { deaths, tries_alone }
    }

    #[test]
    fn one_death_makes_a_suspect_and_two_are_enough() {
        assert_eq!([-1, 0].map(|deaths| suspicion(deaths, 9).trust_level()), [TrustLevel::Trusted; 2]);
        assert_eq!(suspicion(1, 0).trust_level(), TrustLevel::Suspected);
        assert_eq!([2, 3, i64::MAX].map(|it| suspicion(it, 0).trust_level()), [TrustLevel::Quarantined; 3]);
        assert!(suspicion(2, 0).reason("syncing it").contains("crashed twice while syncing it"));
    }

    #[test]
    fn a_suspect_keeps_others_waiting_twice_and_no_more() {
        let first = suspicion(1, 0).after_attempt(WorkEnd::Failed);
        assert_eq!(first.trust_level(), TrustLevel::Suspected);
        assert_eq!(first.after_attempt(WorkEnd::Untried), first, "what was not tried counts neither way");
        let second = first.after_attempt(WorkEnd::Failed);
        assert_eq!(second.trust_level(), TrustLevel::Quarantined);
        assert!(second.reason("syncing it").contains("2 attempts without other work did not finish"));
    }

    #[test]
    fn what_was_read_through_is_innocent_and_failures_of_the_trusted_are_nothing() {
        assert_eq!(suspicion(1, 1).after_attempt(WorkEnd::ReadThrough), CrashHistory::default());
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
