//! What comparisons came to, for runs that find nothing new.

use std::collections::{BTreeMap, BTreeSet};

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

/// Forgets what comparisons of other repositories than these came to: they were removed, here or by another replica.
pub(crate) fn forget_all_but<K: Ord>(known: &BTreeSet<K>, last: &mut BTreeMap<K, LastComparison>) {
    last.retain(|repository, _| known.contains(repository));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_removed_repository_came_to_is_forgotten_and_nothing_else() {
        let comparison =
            |run: &str| LastComparison { run_id: RunId::new(run), state_version: 1, until: None };
        let mut last = BTreeMap::from([("kept", comparison("1")), ("removed", comparison("2"))]);
        forget_all_but(&BTreeSet::from(["kept", "never compared"]), &mut last);
        assert_eq!(last, BTreeMap::from([("kept", comparison("1"))]));
    }
}
