//! What stops applying whatever was approved: the kill switch of an account, and a repository whose newest sync failed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Nothing of an account is applied while it is halted, whatever was approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halt {
    /// Who halted it.
    pub by: String,
    /// Why, in their words.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "applying is halted since {} by {}", self.since, self.by)?;
        match self.reason.trim() {
            "" => Ok(()),
            reason => write!(f, ": {reason}"),
        }
    }
}

/// Nothing of a repository is applied while its newest sync failed and nobody confirmed that this is no reason to wait:
/// what was proposed before may be what git no longer wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedSync {
    /// The repository's name.
    pub repository: String,
    /// Why the sync failed.
    pub reason: String,
}

impl fmt::Display for FailedSync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FailedSync { repository, reason } = self;
        write!(f, "the last sync of {repository} failed: {reason}; sync again, or confirm the failed run")
    }
}
