//! Limits how many proposals are open at a time.

use crate::plan::PlanStep;

/// The default number of open proposals of a repository: what a person can review in one session.
pub const DEFAULT_CAP: usize = 25;

/// The history of a change in earlier runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProposalHistory {
    /// It was never proposed in this form.
    New,
    /// It was proposed and rejected; it is proposed again after all changes that were never proposed.
    Rejected,
    /// It is proposed and still open: it counts neither against the cap nor as remaining.
    Open,
}

/// The changes to propose now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalBatch {
    /// Positions in the plan, ascending.
    pub taken: Vec<usize>,
    /// How many changes are not proposed yet.
    pub remaining: usize,
}

/// Takes the next changes of a plan, in its order. Rejected ones come last, so that they do not delay the others.
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
