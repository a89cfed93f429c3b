//! Results of comparisons, for runs that find nothing new.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::digest::Digest;
use windlass_core::id::RunId;
use windlass_core::time::Timestamp;

/// The last comparison of a repository, and how long its result is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastComparison {
    /// The run that made it.
    pub(crate) run_id: RunId,
    /// The version of the account's state after that run.
    pub(crate) state_version: i64,
    /// What pins of modules selected among.
    pub(crate) modules: Digest,
    /// When the first accepted drift that it skipped expires.
    pub(crate) until: Option<Timestamp>,
}

/// Removes the results of all repositories except these: the others were removed, here or by another replica.
pub(crate) fn retain_known<K: Ord>(known: &BTreeSet<K>, last: &mut BTreeMap<K, LastComparison>) {
    last.retain(|repository, _| known.contains(repository));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_results_of_removed_repositories_are_forgotten() {
        let comparison = |run: &str| LastComparison {
            run_id: RunId::new(run),
            state_version: 1,
            modules: Digest::of(b""),
            until: None,
        };
        let mut last = BTreeMap::from([("kept", comparison("1")), ("removed", comparison("2"))]);
        retain_known(&BTreeSet::from(["kept", "never compared"]), &mut last);
        assert_eq!(last, BTreeMap::from([("kept", comparison("1"))]));
    }
}
