//! Counts the statuses of many targets: for a whole fleet, or by region, label or template, as the caller groups them.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use super::TargetStatus;
use crate::display::grouped_number;

/// The number of targets by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusTally {
    /// By index in [`TargetStatus::ALL`].
    counts: [u64; TargetStatus::ALL.len()],
}

/// Counts statuses by group. A target in several groups is passed in once for each.
pub fn roll_up<K: Ord>(targets: impl IntoIterator<Item = (K, TargetStatus)>) -> BTreeMap<K, StatusTally> {
    let mut groups: BTreeMap<K, StatusTally> = BTreeMap::new();
    for (group, status) in targets {
        groups.entry(group).or_default().add(status, 1);
    }
    groups
}

impl StatusTally {
    /// Adds this many targets with a status.
    pub fn add(&mut self, status: TargetStatus, targets: u64) {
        self.counts[status as usize] += targets;
    }

    /// The number of targets with this status.
    pub fn of(&self, status: TargetStatus) -> u64 {
        self.counts[status as usize]
    }

    /// The number of all targets.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The most severe status; `None` if there are no targets.
    pub fn worst(&self) -> Option<TargetStatus> {
        TargetStatus::ALL.iter().copied().filter(|status| self.of(*status) > 0).max()
    }

    /// One line, the most severe status first: `1,972 of 2,000 in sync, 18 drifted, 10 offline`.
    pub fn headline(&self) -> String {
        if self.total() == 0 {
            return "No targets".to_owned();
        }
        let in_sync = grouped_number(self.of(TargetStatus::InSync));
        let mut line = format!("{in_sync} of {} in sync", grouped_number(self.total()));
        for status in TargetStatus::ALL.iter().rev() {
            let count = self.of(*status);
            if count > 0 && *status != TargetStatus::InSync {
                line.push_str(&format!(", {} {}", grouped_number(count), status.label().to_lowercase()));
            }
        }
        line
    }
}

impl AddAssign for StatusTally {
    fn add_assign(&mut self, other: StatusTally) {
        for status in TargetStatus::ALL {
            self.add(*status, other.of(*status));
        }
    }
}

impl FromIterator<TargetStatus> for StatusTally {
    fn from_iter<I: IntoIterator<Item = TargetStatus>>(statuses: I) -> StatusTally {
        let mut tally = StatusTally::default();
        for status in statuses {
            tally.add(status, 1);
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_headline_says_how_many_are_in_sync_and_then_the_most_severe_first() {
        use TargetStatus::{Applying, Drifted, Failed, InSync, Offline, Unknown};
        let cases: [(&[(TargetStatus, u64)], &str); 5] = [
            (&[], "No targets"),
            (&[(InSync, 2000)], "2,000 of 2,000 in sync"),
            (
                &[(Offline, 10), (InSync, 1972), (Drifted, 18)],
                "1,972 of 2,000 in sync, 18 drifted, 10 offline",
            ),
            (&[(Failed, 1)], "0 of 1 in sync, 1 failed"),
            (
                &[(InSync, 1), (Applying, 1_000_000), (Unknown, 2), (Offline, 3), (Drifted, 4), (Failed, 5)],
                "1 of 1,000,015 in sync, 5 failed, 4 drifted, 3 offline, 2 unknown, 1,000,000 applying",
            ),
        ];
        for (counts, headline) in cases {
            let mut tally = StatusTally::default();
            for (status, count) in counts {
                tally.add(*status, *count);
            }
            assert_eq!(tally.headline(), headline);
        }
    }

    #[test]
    fn a_group_is_as_bad_as_its_worst_member() {
        use TargetStatus::{Applying, Drifted, Failed, InSync, Offline, Unknown};
        let by_severity = [InSync, Applying, Unknown, Offline, Drifted, Failed];
        for (index, worst) in by_severity.iter().enumerate() {
            let tally: StatusTally = by_severity[..=index].iter().copied().collect();
            assert_eq!(tally.worst(), Some(*worst));
        }
        assert_eq!(StatusTally::default().worst(), None);
    }

    #[test]
    fn targets_are_counted_by_group() {
        let groups = roll_up([
            ("eu", TargetStatus::InSync),
            ("ap", TargetStatus::Offline),
            ("eu", TargetStatus::InSync),
        ]);
        let headlines: Vec<_> = groups.iter().map(|(group, tally)| (*group, tally.headline())).collect();
        assert_eq!(
            headlines,
            [("ap", "0 of 1 in sync, 1 offline".to_owned()), ("eu", "2 of 2 in sync".to_owned())]
        );
    }

    fn any_status() -> impl Strategy<Value = TargetStatus> {
        proptest::sample::select(TargetStatus::ALL)
    }

    proptest! {
        #[test]
        fn the_roll_up_of_a_union_is_the_sum_of_the_roll_ups(
            one in vec((0..4_u8, any_status()), 0..40),
            other in vec((0..4_u8, any_status()), 0..40),
        ) {
            let mut sum = roll_up(one.iter().copied());
            for (group, tally) in roll_up(other.iter().copied()) {
                *sum.entry(group).or_default() += tally;
            }
            let union = roll_up(one.iter().chain(&other).copied());
            prop_assert_eq!(union.values().map(StatusTally::total).sum::<u64>(), (one.len() + other.len()) as u64);
            prop_assert_eq!(union, sum);
        }

        #[test]
        fn adding_targets_never_improves_the_status_of_a_group(
            statuses in vec(any_status(), 0..20),
            more in vec(any_status(), 0..20),
        ) {
            let mut tally: StatusTally = statuses.iter().copied().collect();
            let (before, added) = (tally.worst(), more.iter().copied().collect::<StatusTally>());
            tally += added;
            prop_assert_eq!(tally.worst(), before.max(added.worst()));
            prop_assert_eq!(before, statuses.iter().copied().max());
        }
    }
}
