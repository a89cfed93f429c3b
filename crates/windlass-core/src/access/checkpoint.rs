//! When the head of an audit log is signed.

use std::time::Duration;

use crate::time::Timestamp;

/// How often a head is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointPace {
    /// The number of new entries after which it is signed.
    pub entries: i64,
    /// The time after which it is signed, if there is a new entry.
    pub interval: Duration,
}

/// Whether to sign the entry `head`, given the number and time of the last checkpoint.
pub fn is_checkpoint_due(
    head: i64,
    last: Option<(i64, Timestamp)>,
    pace: CheckpointPace,
    now: Timestamp,
) -> bool {
    match last {
        None => head > 0,
        Some((seq, _)) if head <= seq => false,
        Some((seq, at)) => head - seq >= pace.entries || now.elapsed_since(at) >= pace.interval,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_signed_at_first_after_many_entries_or_a_while_and_never_twice() {
        let pace = CheckpointPace { entries: 100, interval: Duration::from_secs(60) };
        let (then, soon, later) =
            (Timestamp::from_millis(0), Timestamp::from_millis(59_999), Timestamp::from_millis(60_000));
        assert!(!is_checkpoint_due(0, None, pace, then));
        assert!(is_checkpoint_due(1, None, pace, then));
        assert!(!is_checkpoint_due(10, Some((10, then)), pace, later));
        assert!(!is_checkpoint_due(11, Some((10, then)), pace, soon));
        assert!(is_checkpoint_due(11, Some((10, then)), pace, later));
        assert!(is_checkpoint_due(110, Some((10, then)), pace, soon));
    }
}
