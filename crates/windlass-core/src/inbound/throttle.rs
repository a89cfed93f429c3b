//! How soon someone may try to sign in again, so that passwords cannot be guessed and nobody is locked out.
//!
//! Failures are counted for three subjects: a person at an address block, the block, and the person wherever they are.
//! Only the first is counted for somebody who signed in from that block before, so what strangers do elsewhere never
//! keeps them out. For everyone else the block limits how fast names and passwords can be tried from one place, and the
//! person's own count makes each attempt a little slower but never refuses one: otherwise anyone could lock anyone out.
//! A success forgets the first count alone. An attacker with an account of his own gains nothing by signing in between.
//!
//! Neighbours share an address, and one of them could take every try that a person has there. So a browser in which someone
//! signed in before is known by itself, and failures in it are counted for it alone. It proves nobody's identity.

use std::time::Duration;

use crate::digest::Digest;
use crate::id::{DeviceId, SessionId};
use crate::time::Timestamp;

use super::address::AddressBlock;

/// Failures that cost nothing: people mistype.
const FREE_FAILURES: i64 = 5;

/// The longest wait of someone at a place where they never signed in.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// The longest wait at a place where they did: whoever fails there may be a neighbour.
const LONGEST_WAIT_WHERE_KNOWN: Duration = Duration::from_secs(10);

/// The longest wait of a session that asks for its own password again. It keeps nobody out.
const LONGEST_WAIT_OF_SESSION: Duration = Duration::from_secs(15 * 60);

/// Failures of one block at once: many people can share an address.
const BLOCK_BURST: i64 = 20;

/// How fast a block's failures are forgotten: so often it may try again after a burst.
const BLOCK_FORGETS: Duration = Duration::from_secs(15);

/// Failures of one person, wherever, before attempts become slower.
const PERSON_FREE: i64 = 20;

/// How fast those are forgotten.
const PERSON_FORGETS: Duration = Duration::from_secs(60);

/// The most that an attempt is slowed down by the failures of strangers.
const LONGEST_DELAY: Duration = Duration::from_secs(3);

/// Whose failures are counted. Written with digests: whatever people type, a key has one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureSubject<'s> {
    /// A person, by the e-mail address that was typed, at a block of addresses.
    PersonAt(&'s str, AddressBlock),
    /// A device on which a person signed in before, by its id.
    Device(&'s DeviceId),
    /// A block of addresses.
    Block(AddressBlock),
    /// A person, wherever they are.
    Person(&'s str),
    /// A session that asks for its own password again.
    Session(&'s SessionId),
}

impl FailureSubject<'_> {
    /// What the store counts it by.
    pub fn key(&self) -> String {
        match self {
            FailureSubject::PersonAt(email, block) => format!("{}{block}", Self::keys_of_person(email)),
            FailureSubject::Device(id) => format!("device:{}", digest_of(id.as_str())),
            FailureSubject::Block(block) => format!("block:{block}"),
            FailureSubject::Person(email) => format!("person:{}", digest_of(email)),
            FailureSubject::Session(id) => format!("session:{}", digest_of(id.as_str())),
        }
    }

    /// How the keys of a person at any block begin.
    pub fn keys_of_person(email: &str) -> String {
        format!("person-at:{}:", digest_of(email))
    }

    /// How long it takes to forget one failure; none where failures are forgotten all together.
    pub fn forgets_one_in(&self) -> Option<Duration> {
        match self {
            FailureSubject::PersonAt(..) | FailureSubject::Device(_) | FailureSubject::Session(_) => None,
            FailureSubject::Block(_) => Some(BLOCK_FORGETS),
            FailureSubject::Person(_) => Some(PERSON_FORGETS),
        }
    }
}

/// Spelling does not matter, and neither does length.
fn digest_of(text: &str) -> String {
    Digest::of(text.trim().to_lowercase().as_bytes()).to_string().trim_start_matches("sha256:").to_owned()
}

/// Failures of a subject as they were when the last one was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureCount {
    /// How many.
    pub count: i64,
    /// When the last one was.
    pub last_at: Timestamp,
}

impl FailureCount {
    /// How many are still remembered.
    fn remembered(self, forgets_one_in: Duration, now: Timestamp) -> i64 {
        let forgotten = now.elapsed_since(self.last_at).as_millis() / forgets_one_in.as_millis().max(1);
        self.count.saturating_sub(i64::try_from(forgotten).unwrap_or(i64::MAX)).max(0)
    }

    /// How much of a wait that doubles with each failure is left.
    fn wait_left(self, longest: Duration, now: Timestamp) -> Duration {
        let over = self.count - FREE_FAILURES;
        if over < 0 {
            return Duration::ZERO;
        }
        let wait = Duration::from_secs(1 << over.min(20)).min(longest);
        wait.saturating_sub(now.elapsed_since(self.last_at))
    }
}

/// Whether somebody signed in from where they try now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInLocation {
    /// On the same device, wherever it is now.
    OwnDevice,
    /// They did, not long ago.
    Known,
    /// They did not, or there is no such person.
    Unknown,
}

/// What was counted before an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignInCounts {
    /// Whether they signed in from there before.
    pub place: SignInLocation,
    /// Of the person at the block, or of their device.
    pub own: Option<FailureCount>,
    /// Of the block.
    pub block: Option<FailureCount>,
    /// Of the person wherever they are.
    pub person: Option<FailureCount>,
}

/// Whether someone may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInVerdict {
    /// They may, and are answered after so long.
    Try {
        /// How much slower the attempt is made.
        delay: Duration,
    },
    /// They may not before so long.
    Wait(Duration),
}

/// Whether someone may try a password.
pub fn judge_sign_in(counts: &SignInCounts, now: Timestamp) -> SignInVerdict {
    let longest = match counts.place {
        SignInLocation::Known => LONGEST_WAIT_WHERE_KNOWN,
        // Nobody but who has the device makes anyone wait there.
        SignInLocation::OwnDevice | SignInLocation::Unknown => LONGEST_WAIT,
    };
    let own = counts.own.map_or(Duration::ZERO, |failures| failures.wait_left(longest, now));
    let (shared, delay) = match counts.place {
        SignInLocation::OwnDevice | SignInLocation::Known => (Duration::ZERO, Duration::ZERO),
        SignInLocation::Unknown => (block_wait(counts.block, now), person_delay(counts.person, now)),
    };
    match own.max(shared) {
        Duration::ZERO => SignInVerdict::Try { delay },
        wait => SignInVerdict::Wait(wait),
    }
}

/// Whether a block of addresses may try something that names nobody, such as the answer of a sign-in provider.
pub fn judge_block(block: Option<FailureCount>, now: Timestamp) -> SignInVerdict {
    match block_wait(block, now) {
        Duration::ZERO => SignInVerdict::Try { delay: Duration::ZERO },
        wait => SignInVerdict::Wait(wait),
    }
}

/// Whether a session may try its own password again.
pub fn judge_session(session: Option<FailureCount>, now: Timestamp) -> SignInVerdict {
    match session.map_or(Duration::ZERO, |failures| failures.wait_left(LONGEST_WAIT_OF_SESSION, now)) {
        Duration::ZERO => SignInVerdict::Try { delay: Duration::ZERO },
        wait => SignInVerdict::Wait(wait),
    }
}

fn block_wait(block: Option<FailureCount>, now: Timestamp) -> Duration {
    let Some(failures) = block else { return Duration::ZERO };
    if failures.remembered(BLOCK_FORGETS, now) < BLOCK_BURST {
        return Duration::ZERO;
    }
    BLOCK_FORGETS.saturating_sub(now.elapsed_since(failures.last_at)).max(Duration::from_secs(1))
}

fn person_delay(person: Option<FailureCount>, now: Timestamp) -> Duration {
    let remembered = person.map_or(0, |failures| failures.remembered(PERSON_FORGETS, now));
    let over = u64::try_from(remembered - PERSON_FREE).unwrap_or(0);
    Duration::from_millis(over.saturating_mul(200)).min(LONGEST_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_000_000_000 + seconds * 1000)
    }

    fn failures(count: i64, last: i64) -> Option<FailureCount> {
        Some(FailureCount { count, last_at: at(last) })
    }

    const NOTHING: SignInCounts =
        SignInCounts { place: SignInLocation::Unknown, own: None, block: None, person: None };

    const AT_ONCE: SignInVerdict = SignInVerdict::Try { delay: Duration::ZERO };

    #[test]
    fn some_failures_are_free_and_then_each_wait_is_twice_as_long_up_to_a_limit() {
        let own = |count| judge_sign_in(&SignInCounts { own: failures(count, 0), ..NOTHING }, at(0));
        assert_eq!(own(4), AT_ONCE);
        assert_eq!(own(5), SignInVerdict::Wait(Duration::from_secs(1)));
        assert_eq!(own(8), SignInVerdict::Wait(Duration::from_secs(8)));
        assert_eq!(own(i64::MAX), SignInVerdict::Wait(LONGEST_WAIT));
        let counts = SignInCounts { own: failures(8, 0), ..NOTHING };
        assert_eq!(judge_sign_in(&counts, at(3)), SignInVerdict::Wait(Duration::from_secs(5)));
        assert_eq!(judge_sign_in(&counts, at(8)), AT_ONCE);
        assert_eq!(judge_session(failures(30, 0), at(0)), SignInVerdict::Wait(LONGEST_WAIT_OF_SESSION));
    }

    #[test]
    fn whatever_strangers_do_nobody_waits_long_where_they_signed_in_before() {
        let counts = SignInCounts {
            place: SignInLocation::Known,
            own: None,
            block: failures(1_000_000, 0),
            person: failures(1_000_000, 0),
        };
        assert_eq!(judge_sign_in(&counts, at(0)), AT_ONCE);
        let neighbour = SignInCounts { own: failures(1_000_000, 0), ..counts };
        assert_eq!(judge_sign_in(&neighbour, at(0)), SignInVerdict::Wait(LONGEST_WAIT_WHERE_KNOWN));
        // On a device of their own they wait for nobody but themselves.
        let device = SignInCounts { place: SignInLocation::OwnDevice, ..counts };
        assert_eq!(judge_sign_in(&device, at(0)), AT_ONCE);
        let stolen = SignInCounts { own: failures(1_000_000, 0), ..device };
        assert_eq!(judge_sign_in(&stolen, at(0)), SignInVerdict::Wait(LONGEST_WAIT));
    }

    #[test]
    fn failures_elsewhere_slow_an_attempt_a_little_and_never_refuse_it() {
        let elsewhere = |count| judge_sign_in(&SignInCounts { person: failures(count, 0), ..NOTHING }, at(0));
        assert_eq!(elsewhere(PERSON_FREE), AT_ONCE);
        assert_eq!(elsewhere(PERSON_FREE + 5), SignInVerdict::Try { delay: Duration::from_secs(1) });
        assert_eq!(elsewhere(i64::MAX), SignInVerdict::Try { delay: LONGEST_DELAY });
    }

    #[test]
    fn a_block_has_a_burst_and_then_a_steady_rate() {
        let counts = |count| SignInCounts { block: failures(count, 0), ..NOTHING };
        assert_eq!(judge_sign_in(&counts(BLOCK_BURST - 1), at(0)), AT_ONCE);
        assert_eq!(judge_sign_in(&counts(BLOCK_BURST), at(0)), SignInVerdict::Wait(BLOCK_FORGETS));
        assert_eq!(judge_sign_in(&counts(BLOCK_BURST), at(15)), AT_ONCE);
        assert_eq!(
            judge_block(failures(BLOCK_BURST, 0), at(5)),
            SignInVerdict::Wait(Duration::from_secs(10))
        );
    }

    #[test]
    fn keys_have_one_length_and_spelling_does_not_matter() {
        let block = AddressBlock::of_text("2001:db8::1");
        let key = |email: &str| FailureSubject::PersonAt(email, block).key();
        assert_eq!(key(" Ada@Example.com"), key("ada@example.com "));
        assert_ne!(key("ada@example.com"), key("bob@example.com"));
        assert_eq!(key(&"x".repeat(1_000_000)).len(), key("ada@example.com").len());
        assert!(key("ada@example.com").starts_with(&FailureSubject::keys_of_person("ADA@example.com")));
        assert!(key("ada@example.com").len() < 120);
    }
}
