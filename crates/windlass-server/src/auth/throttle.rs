//! Counting attempts to prove who one is: load the counts, let the core judge, count.
//!
//! An attempt is counted as a failure before it is looked at, so that many at once are counted one by one; a success
//! takes back what its own attempt added.

use std::time::Duration;

use windlass_control::clock::now;
use windlass_core::id::{DeviceId, SessionId, UserId};
use windlass_core::inbound::address::AddressBlock;
use windlass_core::inbound::throttle::{
    FailureSubject, SignInCounts, SignInLocation, SignInVerdict, judge_block, judge_session, judge_sign_in,
};
use windlass_core::time::Timestamp;
use windlass_store::{Reading, StoreError, Writing};

use crate::auth::error::LoginError;
use crate::state::Server;

/// Someone who tries a password, and where they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignInAttempt<'t> {
    /// As it was typed.
    pub(super) email: &'t str,
    /// Who has that address; an id that nobody has if nobody does.
    pub(super) user_id: &'t UserId,
    pub(super) block: AddressBlock,
    /// The device of theirs that they use.
    pub(super) device: Option<&'t DeviceId>,
}

impl SignInAttempt<'_> {
    /// Where nobody but they, or their neighbours if their device is not known, are counted.
    fn own(&self) -> FailureSubject<'_> {
        match self.device {
            Some(id) => FailureSubject::Device(id),
            None => FailureSubject::PersonAt(self.email, self.block),
        }
    }
}

/// What was counted for an attempt, to be undone if it succeeds.
#[derive(Debug, Default)]
pub(crate) struct AttemptCount {
    /// Forgotten as a whole: nobody but the one who succeeded is counted there.
    forgotten: Vec<String>,
    /// Taken back by one: others are counted there, too.
    taken_back: Vec<String>,
}

impl AttemptCount {
    /// Undoes it.
    pub(crate) async fn undo(&self, writing: &mut Writing) -> Result<(), StoreError> {
        for subject in &self.forgotten {
            writing.failures_clear(subject).await?;
        }
        for subject in &self.taken_back {
            writing.failure_undo(subject).await?;
        }
        Ok(())
    }
}

async fn load_counts(reading: &mut Reading, trier: &SignInAttempt<'_>) -> Result<SignInCounts, StoreError> {
    let SignInAttempt { email, user_id, block, device } = *trier;
    let is_known = reading.sign_in_place_is_known(user_id, &block.to_string()).await?;
    Ok(SignInCounts {
        place: match (device, is_known) {
            (Some(_), _) => SignInLocation::OwnDevice,
            (None, true) => SignInLocation::Known,
            (None, false) => SignInLocation::Unknown,
        },
        own: reading.failures(&trier.own().key()).await?,
        block: reading.failures(&FailureSubject::Block(block).key()).await?,
        person: reading.failures(&FailureSubject::Person(email).key()).await?,
    })
}

/// Whether someone may try, and how much slower; nothing is counted yet.
pub(super) async fn check_sign_in_allowed(
    reading: &mut Reading,
    trier: &SignInAttempt<'_>,
) -> Result<Duration, LoginError> {
    match judge_sign_in(&load_counts(reading, trier).await?, now()) {
        SignInVerdict::Try { delay } => Ok(delay),
        SignInVerdict::Wait(wait) => Err(LoginError::Throttled(wait)),
    }
}

/// Counts an attempt to sign in with a password.
pub(super) async fn count_sign_in(
    server: &Server,
    trier: &SignInAttempt<'_>,
) -> Result<AttemptCount, LoginError> {
    let now = now();
    let own = trier.own();
    let shared = [FailureSubject::Block(trier.block), FailureSubject::Person(trier.email)];
    let mut writing = server.store().write().await?;
    for subject in [own, shared[0], shared[1]] {
        writing.failures_lock(&subject.key()).await?;
    }
    let counts = load_counts(&mut writing, trier).await?;
    if let SignInVerdict::Wait(wait) = judge_sign_in(&counts, now) {
        return Err(LoginError::Throttled(wait));
    }
    let mut counted = AttemptCount { forgotten: vec![own.key()], taken_back: Vec::new() };
    count(&mut writing, own, now).await?;
    if counts.place == SignInLocation::Unknown {
        for subject in shared {
            count(&mut writing, subject, now).await?;
            counted.taken_back.push(subject.key());
        }
    }
    writing.commit().await?;
    Ok(counted)
}

/// Counts an answer of the sign-in provider that a browser brings: it names nobody before it is looked at.
pub(crate) async fn count_provider_answer(
    server: &Server,
    address: &str,
) -> Result<AttemptCount, LoginError> {
    let now = now();
    let subject = FailureSubject::Block(AddressBlock::of_text(address));
    let mut writing = server.store().write().await?;
    writing.failures_lock(&subject.key()).await?;
    let failures = writing.failures(&subject.key()).await?;
    if let SignInVerdict::Wait(wait) = judge_block(failures, now) {
        return Err(LoginError::Throttled(wait));
    }
    count(&mut writing, subject, now).await?;
    writing.commit().await?;
    Ok(AttemptCount { forgotten: Vec::new(), taken_back: vec![subject.key()] })
}

/// Counts an attempt of a session to give its own password. Each session is counted by itself: whoever stole one keeps
/// nobody else out.
pub(crate) async fn count_session_attempt(
    server: &Server,
    session_id: &SessionId,
) -> Result<AttemptCount, LoginError> {
    let now = now();
    let subject = FailureSubject::Session(session_id);
    let mut writing = server.store().write().await?;
    writing.failures_lock(&subject.key()).await?;
    let failures = writing.failures(&subject.key()).await?;
    if let SignInVerdict::Wait(wait) = judge_session(failures, now) {
        return Err(LoginError::Throttled(wait));
    }
    count(&mut writing, subject, now).await?;
    writing.commit().await?;
    Ok(AttemptCount { forgotten: vec![subject.key()], taken_back: Vec::new() })
}

async fn count(writing: &mut Writing, subject: FailureSubject<'_>, now: Timestamp) -> Result<(), StoreError> {
    writing.failure_add(&subject.key(), subject.forgets_one_in(), now).await
}
