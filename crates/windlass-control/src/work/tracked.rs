//! Counts attempts: the start before the work and the end after it. Quarantines work that crashed servers.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use windlass_core::event::{EventKind, Severity};
use windlass_core::quarantine::{
    CrashHistory, QuarantinableWork, Quarantine, TrustLevel, WorkEnd, WorkSubject,
};
use windlass_core::repository::Repository;
use windlass_core::run::RunError;
use windlass_store::{StoreError, Writing};

use crate::clock::now;
use crate::control::Control;
use crate::failure::QUARANTINED;
use crate::limits::isolation::{WorkIsolation, WorkPermit};
use crate::record::RepositoryEvent;

/// Whether work may begin.
pub(crate) enum BeginResult<'s> {
    /// It has begun.
    Begun(TrackedWork<'s>),
    /// It must not begin, because of this crash history.
    Quarantined(CrashHistory),
}

/// Work whose beginning was counted. If it is dropped without an end, it did not crash this process, whatever else happened.
pub(crate) struct TrackedWork<'s> {
    subject: WorkSubject<'s>,
    isolation: WorkIsolation,
    permit: WorkPermit,
    before: CrashHistory,
    /// Its new crash history; none once the database has it.
    unrecorded: Mutex<Option<CrashHistory>>,
}

/// Waits until the work may run, alone or in parallel, and counts its beginning. The caller makes sure that nobody else works
/// on the same subject.
pub(crate) async fn begin<'s>(
    server: &Control,
    subject: WorkSubject<'s>,
) -> Result<BeginResult<'s>, StoreError> {
    let isolation = server.work_isolation();
    let before = match isolation.take_unrecorded(&subject.key()) {
        Some(held) => held,
        None => server.store().read().await?.suspicion(subject).await?,
    };
    let trust_level = before.trust_level();
    if trust_level == TrustLevel::Quarantined {
        return Ok(BeginResult::Quarantined(before));
    }
    let permit = isolation.wait_for_permit(trust_level).await;
    let mut writing = server.store().write().await?;
    writing.work_begin(subject, before, now()).await?;
    writing.commit().await?;
    let unrecorded = Mutex::new(Some(before.after_attempt(WorkEnd::Untried)));
    Ok(BeginResult::Begun(TrackedWork { subject, isolation: isolation.clone(), permit, before, unrecorded }))
}

impl TrackedWork<'_> {
    /// The permit, for every thread that does some of the work.
    pub(crate) fn permit(&self) -> WorkPermit {
        self.permit.clone()
    }

    /// Records the end in the transaction that stores the result of the work. Returns the new crash history.
    pub(crate) async fn end_in(
        &self,
        writing: &mut Writing,
        end: WorkEnd,
    ) -> Result<CrashHistory, StoreError> {
        let after = self.before.after_attempt(end);
        *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(after);
        writing.work_end(self.subject, after, now()).await?;
        Ok(after)
    }

    /// To be called after that transaction was committed.
    pub(crate) fn mark_recorded(self) {
        *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Records the end. Returns the new crash history.
    pub(crate) async fn end(self, server: &Control, end: WorkEnd) -> Result<CrashHistory, StoreError> {
        let mut writing = server.store().write().await?;
        let after = self.end_in(&mut writing, end).await?;
        writing.commit().await?;
        self.mark_recorded();
        Ok(after)
    }
}

impl Drop for TrackedWork<'_> {
    fn drop(&mut self) {
        let unrecorded = self.unrecorded.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = unrecorded.take() {
            self.isolation.keep_unrecorded(self.subject.key(), held);
        }
    }
}

/// The work that crashed the server, for the reason of the quarantine, and details for the event.
pub(crate) struct QuarantineReport<'h> {
    pub(crate) work: QuarantinableWork,
    pub(crate) subject: WorkSubject<'h>,
    pub(crate) doing: String,
    pub(crate) detail: Value,
}

/// Quarantines work on a repository and records one event. Resets the crash history, so that the work starts without one
/// after someone releases it.
pub(crate) async fn quarantine_work(
    server: &Control,
    repository: &Repository,
    held: QuarantineReport<'_>,
    suspicion: CrashHistory,
) -> Result<Quarantine, StoreError> {
    let QuarantineReport { work, subject, doing, mut detail } = held;
    let now = now();
    let quarantine = Quarantine { reason: suspicion.reason(&doing), since_ms: now.as_millis() };
    let mut writing = server.store().write_account(&repository.account_id).await?;
    let current = writing.repository(&repository.account_id, repository.id.as_str()).await?;
    let quarantines = current.map_or_else(|| repository.quarantines.clone(), |current| current.quarantines);
    let quarantines = quarantines.with(work, quarantine.clone());
    writing.repository_quarantine(&repository.id, &quarantines).await?;
    writing.work_end(subject, CrashHistory::default(), now).await?;
    let (of, what) = match work {
        QuarantinableWork::Sync => ("sync", String::new()),
        QuarantinableWork::PullRequests => ("pull_requests", "pull requests of ".to_owned()),
        QuarantinableWork::Requests => ("requests", "previews and tests of ".to_owned()),
    };
    let verb = if work == QuarantinableWork::Sync { "is" } else { "are" };
    let message = format!("{what}{} {verb} quarantined: {}", repository.name, quarantine.reason);
    detail["of"] = json!(of);
    let news = RepositoryEvent {
        kind: EventKind::RepositoryQuarantined,
        severity: Severity::Critical,
        by: "windlass",
        message,
        payload: detail,
    };
    writing.event(news.event(repository, now));
    server.commit(writing).await?;
    Ok(quarantine)
}

/// The error for work that is quarantined.
pub(crate) fn refusal(quarantine: &Quarantine) -> RunError {
    let help = "check who pushed what to the repository; after fixing it, run `windlass repo release`";
    RunError::new(QUARANTINED, format!("quarantined: {}", quarantine.reason), help)
}
