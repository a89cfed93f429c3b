//! When each kind of work is due. Times are of the monotonic clock: a wrong or jumping clock of the host changes nothing.

use std::time::Duration;

use tokio::time::Instant;

use crate::connection::Backoff;

/// How long after a change of a file the agent looks, so that a burst of changes is one look.
const SETTLE: Duration = Duration::from_millis(300);
/// The shortest time between two looks because of changed files.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// How long after a failed apply the agent tries again, at first.
const FIRST_RETRY: Duration = Duration::from_secs(30);
/// The longest time between two attempts to apply.
const LONGEST_RETRY: Duration = Duration::from_secs(15 * 60);

/// When each kind of work is due.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub(super) look_at: Instant,
    looked_at: Instant,
    pub(super) apply_at: Instant,
    failed_applies: u32,
    pub(super) fetch_at: Instant,
    pub(super) fetch_backoff: Backoff,
    pub(super) report_at: Instant,
    pub(super) report_backoff: Backoff,
    pub(super) reported_at: Instant,
    pub(super) renew_at: Option<Instant>,
    pub(super) renew_backoff: Backoff,
}

impl Schedule {
    /// Everything is due at the start, but the renewal: the server says when.
    pub(super) fn starting(now: Instant) -> Schedule {
        Schedule {
            look_at: now,
            looked_at: now,
            apply_at: now,
            failed_applies: 0,
            fetch_at: now,
            fetch_backoff: Backoff::default(),
            report_at: now,
            report_backoff: Backoff::default(),
            reported_at: now,
            renew_at: None,
            renew_backoff: Backoff::default(),
        }
    }

    pub(super) fn is_look_due(&self, now: Instant) -> bool {
        now >= self.look_at
    }

    pub(super) fn is_renewal_due(&self, now: Instant) -> bool {
        self.renew_at.is_some_and(|at| now >= at)
    }

    /// The next look after one: an interval later, up to a tenth more or less.
    pub(super) fn looked(&mut self, now: Instant, interval: Duration, random: f64) {
        self.looked_at = now;
        self.look_at = now + interval.mul_f64(0.9 + 0.2 * random.clamp(0.0, 1.0));
    }

    /// A managed file changed.
    pub(super) fn look_soon(&mut self, now: Instant) {
        self.look_at = self.look_at.min((now + SETTLE).max(self.looked_at + BETWEEN_LOOKS));
    }

    /// The next attempt to apply, after one.
    pub(super) fn applied(&mut self, now: Instant, is_done: bool) {
        match is_done {
            true => self.apply_now(now),
            false => {
                let delay = FIRST_RETRY.saturating_mul(1 << self.failed_applies.min(10)).min(LONGEST_RETRY);
                self.failed_applies = self.failed_applies.saturating_add(1);
                self.apply_at = now + delay;
            }
        }
    }

    /// There is something new to apply.
    pub(super) fn apply_now(&mut self, now: Instant) {
        (self.apply_at, self.failed_applies) = (now, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn looks_come_at_intervals_with_jitter_and_soon_after_changes() {
        let start = Instant::now();
        let mut schedule = Schedule::starting(start);
        let minute = Duration::from_secs(60);
        schedule.looked(start, minute, 0.0);
        assert_eq!(schedule.look_at - start, Duration::from_secs(54));
        schedule.looked(start, minute, 1.0);
        assert_eq!(schedule.look_at - start, Duration::from_secs(66));
        schedule.look_soon(start);
        assert_eq!(schedule.look_at - start, BETWEEN_LOOKS, "not more often than this");
        schedule.looked(start, minute, 0.5);
        schedule.look_soon(start + minute / 2);
        assert_eq!(schedule.look_at - start, minute / 2 + SETTLE);
        schedule.looked(start, minute, 0.5);
        schedule.look_soon(start + 2 * minute);
        assert_eq!(schedule.look_at - start, minute, "a look that is due stays due");
    }

    #[tokio::test(start_paused = true)]
    async fn failed_applies_are_tried_again_less_and_less_often() {
        let start = Instant::now();
        let mut schedule = Schedule::starting(start);
        let delays = (0..8).map(|_| {
            schedule.applied(start, false);
            (schedule.apply_at - start).as_secs()
        });
        assert_eq!(delays.collect::<Vec<_>>(), [30, 60, 120, 240, 480, 900, 900, 900]);
        schedule.apply_now(start);
        schedule.applied(start, false);
        assert_eq!(schedule.apply_at - start, FIRST_RETRY);
    }
}
