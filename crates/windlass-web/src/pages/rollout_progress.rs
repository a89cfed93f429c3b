//! How far a rollout is: a line of text, and a bar.

use windlass_api::types::RolloutNodeCounts;
use windlass_core::rollout::{RolloutCounts, RolloutNodeState};

/// A part of a progress bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BarPart {
    pub(crate) state: RolloutNodeState,
    pub(crate) x: usize,
    pub(crate) width: usize,
}

/// The parts of a progress bar, a thousand units wide. A state that has a node is never too thin to see.
pub(crate) fn bar(counts: &RolloutNodeCounts) -> Vec<BarPart> {
    use RolloutNodeState::{Applying, Failed, InSync, Left, Offline, Waiting};
    const WIDTH: usize = 1000;
    const THINNEST: usize = 6;
    let counts = RolloutCounts::from(*counts);
    let present: Vec<RolloutNodeState> = [InSync, Failed, Applying, Offline, Waiting, Left]
        .into_iter()
        .filter(|state| counts.of(*state) > 0)
        .collect();
    let spare = WIDTH - THINNEST * present.len();
    let (mut x, mut seen) = (0, 0);
    present
        .into_iter()
        .map(|state| {
            let begun = spare * seen / counts.total();
            seen += counts.of(state);
            let width = THINNEST + spare * seen / counts.total() - begun;
            let part = BarPart { state, x, width };
            x += width;
            part
        })
        .collect()
}

/// The counts in one line.
pub(crate) fn headline(counts: &RolloutNodeCounts) -> String {
    RolloutCounts::from(*counts).headline()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_can_be_seen_in_the_bar_and_the_bar_is_full() {
        let counts =
            RolloutNodeCounts { converged: 1, failed: 1, waiting: 4998, total: 5000, ..Default::default() };
        let parts = bar(&counts);
        assert!(parts.iter().all(|part| part.width >= 6), "{parts:?}");
        assert_eq!(parts.iter().map(|part| part.width).sum::<usize>(), 1000);
        assert_eq!(parts.len(), 3);
        assert_eq!(bar(&RolloutNodeCounts::default()), []);
    }
}
