//! The kill switch: someone stopped all applying in an account.

use std::fmt;

use serde::Serialize;

use crate::time::Timestamp;

/// Nothing of an account is applied while it is halted, whatever was approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
