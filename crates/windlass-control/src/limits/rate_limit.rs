//! How much is taken from whom: a burst at once, then one at a time. Kept in memory, because it protects this process, and
//! what is refused must cost no write.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Subjects that are remembered at once. One more is remembered instead of the one that waits least.
const MAX_SUBJECTS: usize = 10_000;

/// What strangers may cost.
#[derive(Debug)]
pub struct RateLimits {
    /// Webhooks that are signed wrongly, for each address block they come from.
    pub(crate) wrong_signatures: RateLimit,
    /// Webhooks that are signed rightly, for each repository. Pushes come in bursts, and all of one burst is one look.
    pub(crate) valid_deliveries: RateLimit,
    /// Wrong ones that people are told of, for each repository: nobody fills the database with them.
    pub(crate) refusal_events: RateLimit,
    /// Tokens and sessions that are not valid, for each address block they come from. A page whose session ended asks
    /// several times at once.
    pub invalid_tokens: RateLimit,
}

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits {
            wrong_signatures: RateLimit::new(30, Duration::from_secs(3)),
            valid_deliveries: RateLimit::new(60, Duration::from_secs(1)),
            refusal_events: RateLimit::new(1, Duration::from_secs(10 * 60)),
            // Nobody guesses 256 bits; this is about what looking them up costs.
            invalid_tokens: RateLimit::new(3000, Duration::from_millis(100)),
        }
    }
}

/// An allowance that fills up again.
#[derive(Debug)]
pub struct RateLimit {
    burst: Duration,
    refill_interval: Duration,
    /// When each subject's is full again. Those whose moment has passed need not be remembered.
    full_at: Mutex<BTreeMap<String, Instant>>,
}

impl RateLimit {
    fn new(burst: u32, each: Duration) -> RateLimit {
        RateLimit { burst: each * burst, refill_interval: each, full_at: Mutex::default() }
    }

    /// Takes one, or tells how long to wait for it.
    pub fn take(&self, subject: &str, now: Instant) -> Result<(), Duration> {
        // Moments are sound whatever the thread that held them last did.
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let next = full_at.get(subject).copied().unwrap_or(now).max(now) + self.refill_interval;
        let over = (next - now).saturating_sub(self.burst);
        if !over.is_zero() {
            return Err(over);
        }
        if full_at.len() >= MAX_SUBJECTS && !full_at.contains_key(subject) {
            make_room(&mut full_at, now);
        }
        full_at.insert(subject.to_owned(), next);
        Ok(())
    }
}

fn make_room(full_at: &mut BTreeMap<String, Instant>, now: Instant) {
    full_at.retain(|_, moment| *moment > now);
    if full_at.len() >= MAX_SUBJECTS {
        let first = full_at.iter().min_by_key(|(_, moment)| **moment).map(|(subject, _)| subject.clone());
        first.and_then(|subject| full_at.remove(&subject));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_taken_at_once_and_then_one_at_a_time() {
        let allowance = RateLimit::new(3, Duration::from_secs(10));
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        for _ in 0..3 {
            assert_eq!(allowance.take("a", begun), Ok(()));
        }
        assert_eq!(allowance.take("a", begun), Err(Duration::from_secs(10)));
        assert_eq!(allowance.take("b", begun), Ok(()), "each by itself");
        assert_eq!(allowance.take("a", after(4)), Err(Duration::from_secs(6)), "asking does not prolong it");
        assert_eq!(allowance.take("a", after(10)), Ok(()));
        assert_eq!(allowance.take("a", after(10)), Err(Duration::from_secs(10)));
        for _ in 0..3 {
            assert_eq!(allowance.take("a", after(1000)), Ok(()), "full, and no fuller");
        }
        assert!(allowance.take("a", after(1000)).is_err());
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let allowance = RateLimit::new(1, Duration::from_secs(10));
        let now = Instant::now();
        for number in 0..MAX_SUBJECTS + 50 {
            assert_eq!(allowance.take(&format!("{number}"), now), Ok(()));
        }
        assert_eq!(allowance.full_at.lock().expect("nobody panicked").len(), MAX_SUBJECTS);
        assert_eq!(allowance.take("later", now + Duration::from_secs(11)), Ok(()));
        assert_eq!(allowance.full_at.lock().expect("nobody panicked").len(), 1);
    }
}
