//! Counts sign-in attempts: loads the counts, lets the core decide, and adds the attempt.
//!
//! An attempt counts as a failure before it is checked, so that concurrent attempts are counted one by one. A success
//! removes the failure that its own attempt added.

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

/// An attempt to sign in with a password: the person and where they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignInAttempt<'t> {
    /// The e-mail address as it was typed.
    pub(super) email: &'t str,
    /// The person with that address; an id that nobody has if there is none.
    pub(super) user_id: &'t UserId,
    pub(super) block: AddressBlock,
    /// Their known device, if they use one.
    pub(super) device: Option<&'t DeviceId>,
}

impl SignInAttempt<'_> {
    /// The subject for this person: their device, on which nobody else is counted; without a known device, the person at
    /// this address block, where neighbours who type the same address are counted too.
    fn own(&self) -> FailureSubject<'_> {
        match self.device {
            Some(id) => FailureSubject::Device(id),
            None => FailureSubject::PersonAt(self.email, self.block),
        }
    }
}

/// The failures that were counted for an attempt, to be undone if it succeeds.
#[derive(Debug, Default)]
pub(crate) struct AttemptCount {
    /// Subjects whose counts a success clears: they count only the person who succeeded.
    cleared: Vec<String>,
    /// Subjects whose counts a success lowers by one: they count others too.
    lowered: Vec<String>,
}

impl AttemptCount {
    /// Undoes these counts.
    pub(crate) async fn undo(&self, writing: &mut Writing) -> Result<(), StoreError> {
        for subject in &self.cleared {
            writing.failures_clear(subject).await?;
        }
        for subject in &self.lowered {
            writing.failure_undo(subject).await?;
        }
        Ok(())
    }
}

async fn load_counts(reading: &mut Reading, attempt: &SignInAttempt<'_>) -> Result<SignInCounts, StoreError> {
    let SignInAttempt { email, user_id, block, device } = *attempt;
    let is_known = reading.sign_in_place_is_known(user_id, &block.to_string()).await?;
    Ok(SignInCounts {
        place: match (device, is_known) {
            (Some(_), _) => SignInLocation::OwnDevice,
            (None, true) => SignInLocation::Known,
            (None, false) => SignInLocation::Unknown,
        },
        own: reading.failures(&attempt.own().key()).await?,
        block: reading.failures(&FailureSubject::Block(block).key()).await?,
        person: reading.failures(&FailureSubject::Person(email).key()).await?,
    })
}

/// Whether the attempt is allowed, and how long to delay it. Counts nothing yet.
pub(super) async fn check_sign_in_allowed(
    reading: &mut Reading,
    attempt: &SignInAttempt<'_>,
) -> Result<Duration, LoginError> {
    match judge_sign_in(&load_counts(reading, attempt).await?, now()) {
        SignInVerdict::Try { delay } => Ok(delay),
        SignInVerdict::Wait(wait) => Err(LoginError::Throttled(wait)),
    }
}

/// Counts an attempt to sign in with a password.
pub(super) async fn count_sign_in(
    server: &Server,
    attempt: &SignInAttempt<'_>,
) -> Result<AttemptCount, LoginError> {
    let now = now();
    let own = attempt.own();
    let shared = [FailureSubject::Block(attempt.block), FailureSubject::Person(attempt.email)];
    let mut writing = server.store().write().await?;
    for subject in [own, shared[0], shared[1]] {
        writing.failures_lock(&subject.key()).await?;
    }
    let counts = load_counts(&mut writing, attempt).await?;
    if let SignInVerdict::Wait(wait) = judge_sign_in(&counts, now) {
        return Err(LoginError::Throttled(wait));
    }
    let mut counted = AttemptCount { cleared: vec![own.key()], lowered: Vec::new() };
    count(&mut writing, own, now).await?;
    if counts.place == SignInLocation::Unknown {
        for subject in shared {
            count(&mut writing, subject, now).await?;
            counted.lowered.push(subject.key());
        }
    }
    writing.commit().await?;
    Ok(counted)
}

/// Counts a callback from the single sign-on provider. Only the address block is known before the callback is checked.
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
    Ok(AttemptCount { cleared: Vec::new(), lowered: vec![subject.key()] })
}

/// Counts an attempt to confirm the password of a session. Each session is counted separately, so that someone who stole
/// one locks nobody else out.
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
    Ok(AttemptCount { cleared: vec![subject.key()], lowered: Vec::new() })
}

async fn count(writing: &mut Writing, subject: FailureSubject<'_>, now: Timestamp) -> Result<(), StoreError> {
    writing.failure_add(&subject.key(), subject.forgets_one_in(), now).await
}
