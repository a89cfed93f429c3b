//! Chooses which queued work starts next, so that no account blocks the others.
//!
//! Work that contacts other people's servers can take as long as those servers like. So every account gets a limited
//! number of slots, work that failed last time gets fewer, and the last slots are reserved for accounts without any.
//! Among the work that may start, the account with the fewest slots comes first, then the work that has waited longest.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::AccountId;

/// The result of the last work in the same lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastResult {
    /// It succeeded.
    Proven,
    /// It failed, or there was none.
    Unproven,
}

/// Queued or running work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkItem<'w> {
    /// Its account.
    pub account: &'w AccountId,
    /// Only one item of a lane runs at a time, for example of a repository.
    pub lane: &'w str,
    /// The result of the last work in its lane.
    pub last_result: LastResult,
}

/// The number of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerSlots {
    /// In total.
    pub all: usize,
    /// Reserved for accounts that have none.
    pub reserved: usize,
    /// For one account.
    pub per_account: usize,
    /// Of those, for work that failed last time.
    pub unproven: usize,
}

#[derive(Default)]
struct SlotsInUse {
    all: usize,
    unproven: usize,
}

/// Chooses which of the queued work, oldest first, starts now. Returns its indices in the order of starting.
pub fn choose_next(waiting: &[WorkItem<'_>], running: &[WorkItem<'_>], slots: WorkerSlots) -> Vec<usize> {
    let mut taken: BTreeMap<&AccountId, SlotsInUse> = BTreeMap::new();
    let mut lanes: BTreeSet<&str> = BTreeSet::new();
    for work in running {
        note(work, &mut taken, &mut lanes);
    }
    let mut chosen = Vec::new();
    while let Some(next) = next(waiting, &taken, &lanes, slots, running.len() + chosen.len()) {
        note(&waiting[next], &mut taken, &mut lanes);
        chosen.push(next);
    }
    chosen
}

fn note<'w>(
    work: &WorkItem<'w>,
    taken: &mut BTreeMap<&'w AccountId, SlotsInUse>,
    lanes: &mut BTreeSet<&'w str>,
) {
    lanes.insert(work.lane);
    let taken = taken.entry(work.account).or_default();
    taken.all += 1;
    taken.unproven += usize::from(work.last_result == LastResult::Unproven);
}

fn next(
    waiting: &[WorkItem<'_>],
    taken: &BTreeMap<&AccountId, SlotsInUse>,
    lanes: &BTreeSet<&str>,
    slots: WorkerSlots,
    in_use: usize,
) -> Option<usize> {
    let share = |account: &AccountId| taken.get(account).map_or((0, 0), |taken| (taken.all, taken.unproven));
    let may_begin = |work: &WorkItem<'_>| {
        let (all, unproven) = share(work.account);
        let open = if all == 0 { slots.all } else { slots.all.saturating_sub(slots.reserved) };
        in_use < open
            && all < slots.per_account
            && (work.last_result == LastResult::Proven || unproven < slots.unproven)
            && !lanes.contains(work.lane)
    };
    let begins = waiting.iter().enumerate().filter(|(_, work)| may_begin(work));
    begins.min_by_key(|(index, work)| (share(work.account).0, *index)).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::tests::lasting;
    use proptest::prelude::*;

    const SLOTS: WorkerSlots = WorkerSlots { all: 8, reserved: 2, per_account: 3, unproven: 2 };

    fn work<'w>(account: &str, lane: &'w str) -> WorkItem<'w> {
        WorkItem { account: lasting(account), lane, last_result: LastResult::Proven }
    }

    fn tarpit<'w>(account: &str, lane: &'w str) -> WorkItem<'w> {
        WorkItem { last_result: LastResult::Unproven, ..work(account, lane) }
    }

    #[test]
    fn one_account_never_takes_all_places_and_the_next_begins_at_once() {
        let mine = [work("a", "1"), work("a", "2"), work("a", "3"), work("a", "4"), work("b", "5")];
        assert_eq!(choose_next(&mine, &[], SLOTS), [0, 4, 1, 2]);
        assert_eq!(choose_next(&[mine[4]], &mine[..3], SLOTS), [0]);
    }

    #[test]
    fn what_failed_before_leaves_a_place_to_what_did_not() {
        let waiting = [tarpit("a", "1"), tarpit("a", "2"), tarpit("a", "3"), work("a", "4")];
        assert_eq!(choose_next(&waiting, &[], SLOTS), [0, 1, 3]);
    }

    #[test]
    fn one_of_a_lane_at_a_time() {
        assert_eq!(choose_next(&[work("a", "1"), work("a", "1")], &[], SLOTS), [0]);
        assert_eq!(choose_next(&[work("a", "1")], &[work("a", "1")], SLOTS), [0; 0]);
    }

    #[test]
    fn the_last_places_are_for_accounts_that_have_none() {
        let busy: Vec<String> = (0..6).map(|lane| lane.to_string()).collect();
        let busy: Vec<WorkItem<'_>> =
            busy.iter().enumerate().map(|(n, lane)| work(["a", "b", "c"][n / 2], lane)).collect();
        let waiting = [work("a", "x"), work("d", "y"), work("d", "z")];
        assert_eq!(choose_next(&waiting, &busy, SLOTS), [1]);
    }

    proptest! {
        #[test]
        fn limits_hold_and_no_account_without_work_waits_while_there_is_a_place(
            waiting in proptest::collection::vec((0..5_u8, 0..20_u8, any::<bool>()), 0..40),
        ) {
            let names: Vec<(AccountId, String, bool)> = waiting
                .iter()
                .map(|(account, lane, good)| (AccountId::new(account.to_string()), format!("{account}/{lane}"), *good))
                .collect();
            let waiting: Vec<WorkItem<'_>> = names
                .iter()
                .map(|(account, lane, good)| WorkItem {
                    account,
                    lane,
                    last_result: if *good { LastResult::Proven } else { LastResult::Unproven },
                })
                .collect();
            let chosen = choose_next(&waiting, &[], SLOTS);
            prop_assert!(chosen.len() <= SLOTS.all);
            for account in ["0", "1", "2", "3", "4"] {
                let of = |work: &&WorkItem<'_>| work.account.as_str() == account;
                let begun = chosen.iter().map(|index| &waiting[*index]).filter(of).count();
                prop_assert!(begun <= SLOTS.per_account);
                prop_assert!(begun > 0 || !waiting.iter().any(|work| of(&work)));
            }
        }
    }
}
