//! Counting: a beginning before the work, its end after it, and the quarantine of what servers died of.

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
    /// It is not done, because this is held against it.
    Quarantined(CrashHistory),
}

/// Work whose beginning was counted. Dropped without an end, it did not kill this process, whatever else happened.
pub(crate) struct TrackedWork<'s> {
    subject: WorkSubject<'s>,
    company: WorkIsolation,
    leave: WorkPermit,
    before: CrashHistory,
    /// What is held against it from now on; none once the database knows.
    unrecorded: Mutex<Option<CrashHistory>>,
}

/// Counts the beginning of work, after waiting for the company it may be done in. The caller makes sure that nobody else
/// works on the same subject.
pub(crate) async fn begin<'s>(
    server: &Control,
    subject: WorkSubject<'s>,
) -> Result<BeginResult<'s>, StoreError> {
    let company = server.work_isolation();
    let before = match company.take_unrecorded(&subject.key()) {
        Some(held) => held,
        None => server.store().read().await?.suspicion(subject).await?,
    };
    let standing = before.trust_level();
    if standing == TrustLevel::Quarantined {
        return Ok(BeginResult::Quarantined(before));
    }
    let leave = company.join(standing).await;
    let mut writing = server.store().write().await?;
    writing.work_begin(subject, before, now()).await?;
    writing.commit().await?;
    let unrecorded = Mutex::new(Some(before.after_attempt(WorkEnd::Untried)));
    Ok(BeginResult::Begun(TrackedWork { subject, company: company.clone(), leave, before, unrecorded }))
}

impl TrackedWork<'_> {
    /// For every thread that does some of it.
    pub(crate) fn leave(&self) -> WorkPermit {
        self.leave.clone()
    }

    /// Notes the end in a transaction that notes what came of the work. Returns what is held against it now.
    pub(crate) async fn end_in(
        &self,
        writing: &mut Writing,
        end: WorkEnd,
    ) -> Result<CrashHistory, StoreError> {
        let after = self.before.after_attempt(end);
        *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(after);
        writing.work_ended(self.subject, after, now()).await?;
        Ok(after)
    }

    /// Says that the transaction was committed.
    pub(crate) fn recorded(self) {
        *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Notes the end. Returns what is held against it now.
    pub(crate) async fn end(self, server: &Control, end: WorkEnd) -> Result<CrashHistory, StoreError> {
        let mut writing = server.store().write().await?;
        let after = self.end_in(&mut writing, end).await?;
        writing.commit().await?;
        self.recorded();
        Ok(after)
    }
}

impl Drop for TrackedWork<'_> {
    fn drop(&mut self) {
        let unrecorded = self.unrecorded.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = unrecorded.take() {
            self.company.note_survived(self.subject.key(), held);
        }
    }
}

/// What a quarantine's reason says that the server died of, and what the event tells besides.
pub(crate) struct QuarantineReport<'h> {
    pub(crate) work: QuarantinableWork,
    pub(crate) subject: WorkSubject<'h>,
    pub(crate) doing: String,
    pub(crate) detail: Value,
}

/// Has work on a repository not be done any more, and says so once. Nothing else is held against it from then on: whoever
/// releases it lets it begin anew.
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
    writing.work_ended(subject, CrashHistory::default(), now).await?;
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

/// Why something is not done.
pub(crate) fn refusal(quarantine: &Quarantine) -> RunError {
    let help = "check who pushed what to the repository; after fixing it, run `windlass repo release`";
    RunError::new(QUARANTINED, format!("quarantined: {}", quarantine.reason), help)
}
