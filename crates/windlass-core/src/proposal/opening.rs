//! Which changes of a stored plan are opened when others are done: the next in its order, as far as the cap has room.

use crate::digest::Digest;
use crate::plan::StoredStep;

/// What is known of the resource of a planned change, right before it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepFacts {
    /// The digest of what is accepted now.
    pub accepted: Option<Digest>,
    /// The digest of what git wanted when the repository was last read.
    pub desired: Option<Digest>,
    /// What keeps it from being opened, whatever the digests say.
    pub obstacle: Option<OpenObstacle>,
}

/// What keeps a planned change from being opened now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenObstacle {
    /// It is open already.
    Open,
    /// Someone rejected it; only a sync proposes it again.
    Rejected,
    /// Someone said that the difference is meant.
    Accepted,
    /// Another repository owns the resource by now.
    Foreign,
}

/// Whether a planned change can be opened as it was planned. Otherwise it is left to the next sync.
pub fn can_open(step: &StoredStep, facts: &StepFacts) -> bool {
    facts.obstacle.is_none() && facts.accepted == step.base && facts.desired == step.desired
}

/// How many proposals may be opened, of so many at a time, while these are open. Those that no decision of people can
/// bring on do not take room from the others.
pub fn free_slots(cap: usize, open: usize, stuck: usize) -> usize {
    cap.saturating_sub(open.saturating_sub(stuck))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::Cause;
    use crate::resource::Kind;

    fn step(base: Option<Digest>, desired: Option<Digest>) -> StoredStep {
        let cause = if desired.is_some() { Cause::Edited } else { Cause::Removed };
        StoredStep {
            kind: Kind::Node,
            name: "a".to_owned(),
            cause,
            base,
            desired,
            group: None,
            waits_for: Vec::new(),
        }
    }

    #[test]
    fn a_planned_change_is_opened_only_from_exactly_what_it_was_planned_from() {
        let (old, new, other) = (Digest::of(b"old"), Digest::of(b"new"), Digest::of(b"other"));
        let planned = step(Some(old), Some(new));
        let facts = StepFacts { accepted: Some(old), desired: Some(new), obstacle: None };
        assert!(can_open(&planned, &facts));
        assert!(!can_open(&planned, &StepFacts { accepted: Some(other), ..facts }));
        assert!(!can_open(&planned, &StepFacts { desired: Some(other), ..facts }));
        assert!(!can_open(&planned, &StepFacts { desired: None, ..facts }));
        for obstacle in
            [OpenObstacle::Open, OpenObstacle::Rejected, OpenObstacle::Accepted, OpenObstacle::Foreign]
        {
            assert!(!can_open(&planned, &StepFacts { obstacle: Some(obstacle), ..facts }), "{obstacle:?}");
        }
        let destroy = step(Some(old), None);
        assert!(can_open(&destroy, &StepFacts { accepted: Some(old), ..StepFacts::default() }));
        assert!(!can_open(&destroy, &facts), "git wants it again");
    }

    #[test]
    fn what_nobody_can_bring_on_takes_no_room() {
        assert_eq!(free_slots(25, 0, 0), 25);
        assert_eq!(free_slots(25, 25, 0), 0);
        assert_eq!(free_slots(25, 40, 0), 0);
        assert_eq!(free_slots(25, 30, 10), 5);
    }
}
