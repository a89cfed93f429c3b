//! Counting attempts to prove who one is: load the counts, let the core judge, count.
//!
//! An attempt is counted as a failure before it is looked at, so that many at once are counted one by one; a success
//! takes back what its own attempt added.

use std::time::Duration;

use windlass_control::clock::now;
use windlass_core::inbound::address::AddressBlock;
use windlass_core::inbound::throttle::{
    Place, SignInCounts, Subject, Verdict, judge_block, judge_session, judge_sign_in,
};
use windlass_core::time::Timestamp;
use windlass_store::{Reading, StoreError, Writing};

use crate::auth::error::LoginError;
use crate::state::Server;

/// Someone who tries a password, and where they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trier<'t> {
    /// As it was typed.
    pub(super) email: &'t str,
    /// Who has that address; empty if nobody has.
    pub(super) user_id: &'t str,
    pub(super) block: AddressBlock,
    /// The device of theirs that they use.
    pub(super) device: Option<&'t str>,
}

impl Trier<'_> {
    /// Where nobody but they, or their neighbours if their device is not known, are counted.
    fn own(&self) -> Subject<'_> {
        match self.device {
            Some(id) => Subject::Device(id),
            None => Subject::PersonAt(self.email, self.block),
        }
    }
}

/// What was counted for an attempt, to be undone if it succeeds.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// Forgotten as a whole: nobody but the one who succeeded is counted there.
    forgotten: Vec<String>,
    /// Taken back by one: others are counted there, too.
    taken_back: Vec<String>,
}

impl Counted {
    /// Undoes it.
    pub(crate) async fn undo(&self, writing: &mut Writing) -> Result<(), StoreError> {
        for subject in &self.forgotten {
            writing.failures_clear(subject).await?;
        }
        for subject in &self.taken_back {
            writing.failure_take_back(subject).await?;
        }
        Ok(())
    }
}

async fn load_counts(reading: &mut Reading, trier: &Trier<'_>) -> Result<SignInCounts, StoreError> {
    let Trier { email, user_id, block, device } = *trier;
    let is_known = reading.sign_in_place_is_known(user_id, &block.to_string()).await?;
    Ok(SignInCounts {
        place: match (device, is_known) {
            (Some(_), _) => Place::OwnDevice,
            (None, true) => Place::Known,
            (None, false) => Place::Unknown,
        },
        own: reading.failures(&trier.own().key()).await?,
        block: reading.failures(&Subject::Block(block).key()).await?,
        person: reading.failures(&Subject::Person(email).key()).await?,
    })
}

/// Whether someone may try, and how much slower; nothing is counted yet.
pub(super) async fn foresee_sign_in(
    reading: &mut Reading,
    trier: &Trier<'_>,
) -> Result<Duration, LoginError> {
    match judge_sign_in(&load_counts(reading, trier).await?, now()) {
        Verdict::Try { delay } => Ok(delay),
        Verdict::Wait(wait) => Err(LoginError::Throttled(wait)),
    }
}

/// Counts an attempt to sign in with a password.
pub(super) async fn count_sign_in(server: &Server, trier: &Trier<'_>) -> Result<Counted, LoginError> {
    let now = now();
    let own = trier.own();
    let shared = [Subject::Block(trier.block), Subject::Person(trier.email)];
    let mut writing = server.store().write().await?;
    for subject in [own, shared[0], shared[1]] {
        writing.failures_lock(&subject.key()).await?;
    }
    let counts = load_counts(&mut writing, trier).await?;
    if let Verdict::Wait(wait) = judge_sign_in(&counts, now) {
        return Err(LoginError::Throttled(wait));
    }
    let mut counted = Counted { forgotten: vec![own.key()], taken_back: Vec::new() };
    count(&mut writing, own, now).await?;
    if counts.place == Place::Unknown {
        for subject in shared {
            count(&mut writing, subject, now).await?;
            counted.taken_back.push(subject.key());
        }
    }
    writing.commit().await?;
    Ok(counted)
}

/// Counts an answer of the sign-in provider that a browser brings: it names nobody before it is looked at.
pub(crate) async fn count_provider_answer(server: &Server, address: &str) -> Result<Counted, LoginError> {
    let now = now();
    let subject = Subject::Block(AddressBlock::of_text(address));
    let mut writing = server.store().write().await?;
    writing.failures_lock(&subject.key()).await?;
    let failures = writing.failures(&subject.key()).await?;
    if let Verdict::Wait(wait) = judge_block(failures, now) {
        return Err(LoginError::Throttled(wait));
    }
    count(&mut writing, subject, now).await?;
    writing.commit().await?;
    Ok(Counted { forgotten: Vec::new(), taken_back: vec![subject.key()] })
}

/// Counts an attempt of a session to give its own password. Each session is counted by itself: whoever stole one keeps
/// nobody else out.
pub(crate) async fn count_session_attempt(server: &Server, session_id: &str) -> Result<Counted, LoginError> {
    let now = now();
    let subject = Subject::Session(session_id);
    let mut writing = server.store().write().await?;
    writing.failures_lock(&subject.key()).await?;
    let failures = writing.failures(&subject.key()).await?;
    if let Verdict::Wait(wait) = judge_session(failures, now) {
        return Err(LoginError::Throttled(wait));
    }
    count(&mut writing, subject, now).await?;
    writing.commit().await?;
    Ok(Counted { forgotten: vec![subject.key()], taken_back: Vec::new() })
}

async fn count(writing: &mut Writing, subject: Subject<'_>, now: Timestamp) -> Result<(), StoreError> {
    writing.failure_add(&subject.key(), subject.forgets_one_in(), now).await
}
