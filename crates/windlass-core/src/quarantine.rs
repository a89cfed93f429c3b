//! Work that kills the server that does it: how often it may be tried.
//!
//! Beginnings are counted before the work and taken back after it, however it ends. What is left over is how often a server
//! died in the middle. After the first time anything that was under way may have been the cause, so each is tried once more
//! with nothing beside it; whatever dies then is the cause, and is not tried again until someone says so.

use serde::{Deserialize, Serialize};

/// So many deaths are enough.
pub const ENOUGH_DEATHS: i64 = 2;

/// How work is to be done that was begun and not ended so often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Beside other work.
    Trusted,
    /// With nothing beside it: a server died when it was last tried.
    Suspected,
    /// Not at all.
    Quarantined,
}

/// How to do work during which servers died so often.
pub fn standing(deaths: i64) -> Standing {
    match deaths {
        ..=0 => Standing::Trusted,
        1..ENOUGH_DEATHS => Standing::Suspected,
        _ => Standing::Quarantined,
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

/// What of a repository is not done any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantines {
    /// Syncing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<Quarantine>,
    /// Planning its pull requests, all of them: whoever opens one can open another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_requests: Option<Quarantine>,
}

impl Quarantines {
    /// Whether everything is done.
    pub fn is_empty(&self) -> bool {
        self.sync.is_none() && self.pull_requests.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_death_makes_a_suspect_and_two_are_enough() {
        assert_eq!([-1, 0].map(standing), [Standing::Trusted; 2]);
        assert_eq!(standing(1), Standing::Suspected);
        assert_eq!([2, 3, i64::MAX].map(standing), [Standing::Quarantined; 3]);
    }

    #[test]
    fn what_is_stored_reads_back_and_nothing_is_nothing() {
        let sync = Some(Quarantine { reason: "it died".to_owned(), since_ms: 7 });
        let stored = Quarantines { sync, pull_requests: None };
        let text = serde_json::to_string(&stored).unwrap();
        assert_eq!(serde_json::from_str::<Quarantines>(&text).unwrap(), stored);
        assert!(serde_json::from_str::<Quarantines>("{}").unwrap().is_empty());
    }
}
