//! Limits how soon someone may try to sign in again, so that passwords cannot be guessed and nobody is locked out.
//!
//! Failures are counted for three subjects: a person at an address block, the block, and the person anywhere. For a
//! person who signed in from that block before, only the first counts, so that the failures of strangers elsewhere
//! never lock them out. For everyone else the block's count limits how fast names and passwords can be tried from one
//! place, and the person's own count delays each attempt a little but never refuses one: otherwise anyone could lock
//! anyone out. A success resets only the first count. An attacker with an account of their own gains nothing by signing
//! in between.
//!
//! People who share an address could use up each other's attempts. So a browser in which someone signed in before has
//! an id, and failures in it are counted separately. The id does not authenticate anyone.

use std::time::Duration;

use crate::digest::Digest;
use crate::id::{DeviceId, SessionId};
use crate::time::Timestamp;

use super::address::AddressBlock;

/// Failures without a wait: people mistype.
const FREE_FAILURES: i64 = 5;

/// The longest wait at a place where the person never signed in.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// The longest wait at a place where they did: another user of the same address may have caused the failures.
const LONGEST_WAIT_WHERE_KNOWN: Duration = Duration::from_secs(10);

/// The longest wait of a session that confirms its own password. It locks nobody out.
const LONGEST_WAIT_OF_SESSION: Duration = Duration::from_secs(15 * 60);

/// How many failures of one block are allowed at once: many people can share an address.
const BLOCK_BURST: i64 = 20;

/// How fast a block's failures expire, which is the rate of attempts after a burst.
const BLOCK_FAILURE_EXPIRY: Duration = Duration::from_secs(15);

/// Failures of one person, from anywhere, before attempts are delayed.
const PERSON_FREE: i64 = 20;

/// How fast those failures expire.
const PERSON_FAILURE_EXPIRY: Duration = Duration::from_secs(60);

/// The longest delay that failures of strangers can cause.
const LONGEST_DELAY: Duration = Duration::from_secs(3);

/// The subject of a failure count. Keys contain digests, so that a key has a fixed length, whatever people type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureSubject<'s> {
    /// A person, by the e-mail address that was typed, at an address block.
    PersonAt(&'s str, AddressBlock),
    /// A device on which a person signed in before, by its id.
    Device(&'s DeviceId),
    /// An address block.
    Block(AddressBlock),
    /// A person, anywhere.
    Person(&'s str),
    /// A session that confirms its own password.
    Session(&'s SessionId),
}

impl FailureSubject<'_> {
    /// The key in the store.
    pub fn key(&self) -> String {
        match self {
            FailureSubject::PersonAt(email, block) => format!("{}{block}", Self::keys_of_person(email)),
            FailureSubject::Device(id) => format!("device:{}", digest_of(id.as_str())),
            FailureSubject::Block(block) => format!("block:{block}"),
            FailureSubject::Person(email) => format!("person:{}", digest_of(email)),
            FailureSubject::Session(id) => format!("session:{}", digest_of(id.as_str())),
        }
    }

    /// The common prefix of a person's keys at all blocks.
    pub fn keys_of_person(email: &str) -> String {
        format!("person-at:{}:", digest_of(email))
    }

    /// The time after which one failure expires; `None` if all expire together.
    pub fn forgets_one_in(&self) -> Option<Duration> {
        match self {
            FailureSubject::PersonAt(..) | FailureSubject::Device(_) | FailureSubject::Session(_) => None,
            FailureSubject::Block(_) => Some(BLOCK_FAILURE_EXPIRY),
            FailureSubject::Person(_) => Some(PERSON_FAILURE_EXPIRY),
        }
    }
}

/// Spelling and length do not matter.
fn digest_of(text: &str) -> String {
    Digest::of(text.trim().to_lowercase().as_bytes()).to_string().trim_start_matches("sha256:").to_owned()
}

/// The failures of a subject at the time of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureCount {
    /// The number of failures.
    pub count: i64,
    /// The time of the last one.
    pub last_at: Timestamp,
}

impl FailureCount {
    /// How many have not expired.
    fn unexpired(self, forgets_one_in: Duration, now: Timestamp) -> i64 {
        let forgotten = now.elapsed_since(self.last_at).as_millis() / forgets_one_in.as_millis().max(1);
        self.count.saturating_sub(i64::try_from(forgotten).unwrap_or(i64::MAX)).max(0)
    }

    /// The rest of a wait that doubles with each failure.
    fn wait_left(self, longest: Duration, now: Timestamp) -> Duration {
        let over = self.count - FREE_FAILURES;
        if over < 0 {
            return Duration::ZERO;
        }
        let wait = Duration::from_secs(1 << over.min(20)).min(longest);
        wait.saturating_sub(now.elapsed_since(self.last_at))
    }
}

/// Whether the person signed in from this place before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInLocation {
    /// On this device, wherever it is.
    OwnDevice,
    /// From this block, recently.
    Known,
    /// Never, or the person does not exist.
    Unknown,
}

/// The counts before an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignInCounts {
    /// Whether the person signed in from this place before.
    pub place: SignInLocation,
    /// The failures of the person at the block, or on their device.
    pub own: Option<FailureCount>,
    /// The failures of the block.
    pub block: Option<FailureCount>,
    /// The failures of the person anywhere.
    pub person: Option<FailureCount>,
}

/// Whether an attempt is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInVerdict {
    /// It is, after a delay.
    Try {
        /// The delay of the response.
        delay: Duration,
    },
    /// It is not, for this long.
    Wait(Duration),
}

/// Whether someone may try a password.
pub fn judge_sign_in(counts: &SignInCounts, now: Timestamp) -> SignInVerdict {
    let longest = match counts.place {
        SignInLocation::Known => LONGEST_WAIT_WHERE_KNOWN,
        // Only the holder of the device can cause waits there.
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

/// Whether an address block may try something that names no person, such as the callback of single sign-on.
pub fn judge_block(block: Option<FailureCount>, now: Timestamp) -> SignInVerdict {
    match block_wait(block, now) {
        Duration::ZERO => SignInVerdict::Try { delay: Duration::ZERO },
        wait => SignInVerdict::Wait(wait),
    }
}

/// Whether a session may confirm its own password.
pub fn judge_session(session: Option<FailureCount>, now: Timestamp) -> SignInVerdict {
    match session.map_or(Duration::ZERO, |failures| failures.wait_left(LONGEST_WAIT_OF_SESSION, now)) {
        Duration::ZERO => SignInVerdict::Try { delay: Duration::ZERO },
        wait => SignInVerdict::Wait(wait),
    }
}

fn block_wait(block: Option<FailureCount>, now: Timestamp) -> Duration {
    let Some(failures) = block else { return Duration::ZERO };
    if failures.unexpired(BLOCK_FAILURE_EXPIRY, now) < BLOCK_BURST {
        return Duration::ZERO;
    }
    BLOCK_FAILURE_EXPIRY.saturating_sub(now.elapsed_since(failures.last_at)).max(Duration::from_secs(1))
}

fn person_delay(person: Option<FailureCount>, now: Timestamp) -> Duration {
    let unexpired = person.map_or(0, |failures| failures.unexpired(PERSON_FAILURE_EXPIRY, now));
    let over = u64::try_from(unexpired - PERSON_FREE).unwrap_or(0);
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
        // On their own device, only their own failures cause a wait.
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
        assert_eq!(judge_sign_in(&counts(BLOCK_BURST), at(0)), SignInVerdict::Wait(BLOCK_FAILURE_EXPIRY));
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
