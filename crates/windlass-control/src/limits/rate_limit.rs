//! Rate limits per subject: a burst immediately, then one request per interval. Kept in memory, because they protect this
//! process, and a rejected request must not cause a write.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most subjects that are stored. A further one replaces the one whose allowance is full again first.
const MAX_SUBJECTS: usize = 10_000;

/// The rate limits for webhooks, tokens and sessions.
#[derive(Debug)]
pub struct RateLimits {
    /// Webhook deliveries with a wrong signature, per address block of the sender.
    pub(crate) wrong_signatures: RateLimit,
    /// Webhook deliveries with a valid signature, per repository. Pushes arrive in bursts, and one sync covers a burst.
    pub(crate) valid_deliveries: RateLimit,
    /// Events about wrong signatures, per repository, so that nobody can fill the database with them.
    pub(crate) refusal_events: RateLimit,
    /// Invalid tokens and sessions, per address block of the sender. A page whose session ended sends several requests at once.
    pub invalid_tokens: RateLimit,
    /// Reports, per agent. An agent reports once an interval, and after each change that it applies.
    pub(crate) agent_reports: RateLimit,
    /// Events that agents report, per target: a host that changes all the time must not fill the database.
    pub(crate) agent_events: RateLimit,
    /// Refused enrolments, per address block of the sender. Admitted ones do not count: a thousand hosts behind one address may
    /// enrol at once.
    pub(crate) refused_enrolments: RateLimit,
}

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits {
            wrong_signatures: RateLimit::new(30, Duration::from_secs(3)),
            valid_deliveries: RateLimit::new(60, Duration::from_secs(1)),
            refusal_events: RateLimit::new(1, Duration::from_secs(10 * 60)),
            // Nobody guesses 256 bits; this limits the cost of the lookups.
            invalid_tokens: RateLimit::new(3000, Duration::from_millis(100)),
            agent_reports: RateLimit::new(60, Duration::from_secs(1)),
            agent_events: RateLimit::new(200, Duration::from_secs(10)),
            refused_enrolments: RateLimit::new(60, Duration::from_secs(1)),
        }
    }
}

/// An allowance per subject that refills over time.
#[derive(Debug)]
pub struct RateLimit {
    burst: Duration,
    refill_interval: Duration,
    /// When each subject's allowance is full again. Subjects whose time has passed need not be stored.
    full_at: Mutex<BTreeMap<String, Instant>>,
}

impl RateLimit {
    fn new(burst: u32, each: Duration) -> RateLimit {
        RateLimit { burst: each * burst, refill_interval: each, full_at: Mutex::default() }
    }

    /// Takes one from a subject's allowance, or returns how long to wait.
    pub fn take(&self, subject: &str, now: Instant) -> Result<(), Duration> {
        // Ignores poisoning: the times are valid even if a thread panicked while it held the lock.
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
    fn no_more_subjects_are_stored_than_the_maximum() {
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
