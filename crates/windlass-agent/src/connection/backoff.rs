//! How long the agent waits before it tries again: a random part of a delay that doubles, so that ten thousand agents whose
//! server comes back do not all come at once.

use std::time::Duration;

/// The longest delay before the first retry.
const FIRST: Duration = Duration::from_secs(1);
/// The longest delay of all.
const LONGEST: Duration = Duration::from_secs(60);
/// After this many failures the delay no longer grows.
const MAX_DOUBLINGS: u32 = 6;

/// Counts failures in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The delay after another failure. `random` is from 0 up to 1.
    pub(crate) fn next_delay(&mut self, random: f64) -> Duration {
        let longest = FIRST.saturating_mul(1 << self.failures.min(MAX_DOUBLINGS)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        longest.mul_f64(random.clamp(0.0, 1.0))
    }

    /// After a success the next failure is the first again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_a_minute_and_start_again_after_a_success() {
        let mut backoff = Backoff::default();
        let delays: Vec<u64> = (0..8).map(|_| backoff.next_delay(1.0).as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
        backoff.reset();
        assert_eq!(backoff.next_delay(0.5), Duration::from_millis(500));
        for _ in 0..100 {
            assert_eq!(backoff.next_delay(0.0), Duration::ZERO);
        }
    }
}
