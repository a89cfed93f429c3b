//! How many changes are offered for approval at a time.

use crate::plan::PlanStep;

/// Proposals of a repository that are open at a time unless configured otherwise: what a person can review in one
/// sitting.
pub const DEFAULT_CAP: usize = 25;

/// What became of a change in earlier runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProposalHistory {
    /// Never offered as it is now.
    New,
    /// Offered and refused by someone; offered again, but only after everything that was never offered.
    Rejected,
    /// Already offered and still open: counts neither against the cap nor as remaining.
    Open,
}

/// The changes to offer now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalBatch {
    /// Positions in the plan, ascending.
    pub taken: Vec<usize>,
    /// How many are not open yet.
    pub remaining: usize,
}

/// Takes the next changes of a plan, in its order. Rejected ones come last, so that they cannot starve the rest.
pub fn next_batch(
    steps: &[PlanStep],
    cap: usize,
    standing: impl Fn(&PlanStep) -> ProposalHistory,
) -> ProposalBatch {
    let mut waiting: Vec<(ProposalHistory, usize)> = steps
        .iter()
        .enumerate()
        .map(|(position, step)| (standing(step), position))
        .filter(|(standing, _)| *standing != ProposalHistory::Open)
        .collect();
    waiting.sort_unstable();
    let remaining = waiting.len().saturating_sub(cap);
    let mut taken: Vec<usize> = waiting.into_iter().take(cap).map(|(_, position)| position).collect();
    taken.sort_unstable();
    ProposalBatch { taken, remaining }
}
