//! What comparisons came to, for runs that find nothing new.

use windlass_core::id::RunId;
use windlass_core::time::Timestamp;

/// Which run compared a repository last, and for how long what it came to holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastComparison {
    /// The run that made it.
    pub(crate) run_id: RunId,
    /// The version of the account's state that it left behind.
    pub(crate) state_version: i64,
    /// When accepted drift runs out that it left alone.
    pub(crate) until: Option<Timestamp>,
}
