//! When to send: retries after a failure, duplicates within a window, and a rate limit for each provider.

use std::time::Duration;

use windlass_core::digest::Digest;
use windlass_core::id::RunId;
use windlass_core::time::Timestamp;

use crate::message::AlertEvent;

/// The pause after the first failure; it doubles after each further failure.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// A provider that is down for hours is retried every hour.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// An older message is no longer useful, so it is dropped.
pub const GIVE_UP_AFTER: Duration = Duration::from_secs(24 * 3600);

/// A repeated event within this time is counted and not sent again.
pub const DEDUPLICATION_WINDOW: Duration = Duration::from_secs(300);

/// How many messages a provider is sent within [`RATE_WINDOW`]: the limit of the strictest chat for one webhook, with a
/// margin.
pub const MAX_MESSAGES_PER_WINDOW: usize = 20;

/// See [`MAX_MESSAGES_PER_WINDOW`].
pub const RATE_WINDOW: Duration = Duration::from_secs(60);

/// Kinds of events that are never duplicates of those of another run.
const KINDS_KEYED_BY_RUN: &[&str] = &["gitops.approval_requested"];

/// When to retry a message that failed `attempts` times; `None` if it is dropped. `jitter` is between 0 and 1 and
/// spreads retries of messages that failed together; `asked` is the receiver's Retry-After.
pub fn next_attempt(
    attempts: u32,
    since: Timestamp,
    now: Timestamp,
    jitter: f64,
    asked: Option<Duration>,
) -> Option<Timestamp> {
    let doubled =
        FIRST_PAUSE.saturating_mul(1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX));
    let pause = doubled.min(LONGEST_PAUSE);
    let pause = pause.mul_f64(0.75 + 0.5 * jitter.clamp(0.0, 1.0));
    let pause = asked.map_or(pause, |asked| asked.min(LONGEST_PAUSE));
    let next = now.plus(pause);
    (next.elapsed_since(since) < GIVE_UP_AFTER).then_some(next)
}

/// The deduplication key of a message: the alert, the provider, the kind of event and its subject.
pub fn group_key(alert: &str, provider: &str, event: &AlertEvent) -> String {
    let (kind, name) =
        event.resource.as_ref().map_or(("", ""), |(kind, name)| (kind.as_str(), name.as_str()));
    let repository = event.repository.as_deref().unwrap_or_default();
    let is_own = KINDS_KEYED_BY_RUN.contains(&event.kind.as_str());
    let run = event.run_id.as_ref().filter(|_| is_own).map_or("", RunId::as_str);
    let parts = [alert, provider, &event.kind, kind, name, repository, run];
    Digest::of(serde_json::json!(parts).to_string().as_bytes()).to_string()
}

/// What the rate limit does with a new message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateDecision {
    /// Send it.
    Send,
    /// Count it; a digest reports the number.
    Suppress,
}

/// How many messages a provider was sent within the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProviderRate {
    sent: usize,
}

impl ProviderRate {
    /// A provider that was sent this many messages within [`RATE_WINDOW`].
    pub fn after(sent: usize) -> ProviderRate {
        ProviderRate { sent }
    }

    /// Decides about one more message. One place is reserved for the digest.
    pub fn admit(&mut self) -> RateDecision {
        if self.sent + 1 >= MAX_MESSAGES_PER_WINDOW {
            return RateDecision::Suppress;
        }
        self.sent += 1;
        RateDecision::Send
    }

    /// Whether a digest can be sent with room to spare: otherwise another digest would follow at once.
    pub fn has_room(self) -> bool {
        self.sent < MAX_MESSAGES_PER_WINDOW / 2
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_core::resource::AlertSeverity;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(second * 1000)
    }

    #[test]
    fn pauses_double_up_to_an_hour_and_end_after_a_day() {
        let pause =
            |attempts| next_attempt(attempts, at(0), at(0), 0.5, None).map(|next| next.as_millis() / 1000);
        assert_eq!((pause(1), pause(2), pause(3)), (Some(5), Some(10), Some(20)));
        assert_eq!((pause(11), pause(99), pause(u32::MAX)), (Some(3600), Some(3600), Some(3600)));
        assert_eq!(next_attempt(3, at(0), at(24 * 3600), 0.5, None), None);
        let asked = Some(Duration::from_secs(7));
        assert_eq!(next_attempt(9, at(0), at(0), 0.5, asked), Some(at(7)));
        let for_ever = Some(Duration::MAX);
        assert_eq!(next_attempt(1, at(0), at(0), 0.5, for_ever), Some(at(3600)));
    }

    proptest! {
        #[test]
        fn the_next_attempt_is_later_and_within_the_day(
            attempts in 1_u32.., now in 0_i64..100_000, jitter in any::<f64>(), asked in proptest::option::of(1_u64..),
        ) {
            let asked = asked.map(Duration::from_secs);
            if let Some(next) = next_attempt(attempts, at(0), at(now), jitter, asked) {
                prop_assert!(next > at(now));
                prop_assert!(next.elapsed_since(at(0)) < GIVE_UP_AFTER);
            }
        }
    }

    #[test]
    fn a_burst_is_told_up_to_the_rate_and_then_counted() {
        let mut pace = ProviderRate::after(0);
        let sent = (0..100).filter(|_| pace.admit() == RateDecision::Send).count();
        assert_eq!(sent, MAX_MESSAGES_PER_WINDOW - 1);
        assert!(!pace.has_room());
        assert!(ProviderRate::after(3).has_room());
    }

    #[test]
    fn the_same_thing_has_one_key_and_each_request_for_approval_its_own() {
        let event = |kind: &str, run: &str| AlertEvent {
            seq: 1,
            kind: kind.to_owned(),
            severity: AlertSeverity::High,
            resource: None,
            repository: Some("fleet".to_owned()),
            run_id: Some(RunId::new(run)),
            source: "x".to_owned(),
            message: run.to_owned(),
            at: at(0),
        };
        let key = |alert: &str, kind: &str, run: &str| group_key(alert, "p", &event(kind, run));
        assert_eq!(key("a", "gitops.sync_failed", "1"), key("a", "gitops.sync_failed", "2"));
        assert_ne!(key("a", "gitops.sync_failed", "1"), key("b", "gitops.sync_failed", "1"));
        assert_ne!(key("a", "gitops.approval_requested", "1"), key("a", "gitops.approval_requested", "2"));
    }
}
