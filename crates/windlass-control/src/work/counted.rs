//! Counting: a beginning before the work, its end after it, and the quarantine of what servers died of.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use windlass_core::event::{EventKind, Severity};
use windlass_core::quarantine::{Quarantine, Standing, Subject, Suspicion, Work, WorkEnd};
use windlass_core::repository::Repository;
use windlass_core::run::RunError;
use windlass_store::{StoreError, Writing};

use crate::clock::now;
use crate::control::Control;
use crate::failure::QUARANTINED;
use crate::limits::company::{Company, Leave};
use crate::record;

/// Whether work may begin.
pub(crate) enum Begin<'s> {
    /// It has begun.
    Begun(CountedWork<'s>),
    /// It is not done, because this is held against it.
    Quarantined(Suspicion),
}

/// Work whose beginning was counted. Dropped without an end, it did not kill this process, whatever else happened.
pub(crate) struct CountedWork<'s> {
    subject: Subject<'s>,
    company: Company,
    leave: Leave,
    before: Suspicion,
    /// What is held against it from now on; none once the database knows.
    unrecorded: Mutex<Option<Suspicion>>,
}

/// Counts the beginning of work, after waiting for the company it may be done in. The caller makes sure that nobody else
/// works on the same subject.
pub(crate) async fn begin<'s>(server: &Control, subject: Subject<'s>) -> Result<Begin<'s>, StoreError> {
    let company = server.company();
    let before = match company.take_survivor(&subject.key()) {
        Some(held) => held,
        None => server.store().read().await?.suspicion(subject).await?,
    };
    let standing = before.standing();
    if standing == Standing::Quarantined {
        return Ok(Begin::Quarantined(before));
    }
    let leave = company.join(standing).await;
    let mut writing = server.store().write().await?;
    writing.work_begins(subject, before, now()).await?;
    writing.commit().await?;
    let unrecorded = Mutex::new(Some(before.after(WorkEnd::Untried)));
    Ok(Begin::Begun(CountedWork { subject, company: company.clone(), leave, before, unrecorded }))
}

impl CountedWork<'_> {
    /// For every thread that does some of it.
    pub(crate) fn leave(&self) -> Leave {
        self.leave.clone()
    }

    /// Notes the end in a transaction that notes what came of the work. Returns what is held against it now.
    pub(crate) async fn end_in(&self, writing: &mut Writing, end: WorkEnd) -> Result<Suspicion, StoreError> {
        let after = self.before.after(end);
        *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(after);
        writing.work_ended(self.subject, after, now()).await?;
        Ok(after)
    }

    /// Says that the transaction was committed.
    pub(crate) fn recorded(self) {
        *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Notes the end. Returns what is held against it now.
    pub(crate) async fn end(self, server: &Control, end: WorkEnd) -> Result<Suspicion, StoreError> {
        let mut writing = server.store().write().await?;
        let after = self.end_in(&mut writing, end).await?;
        writing.commit().await?;
        self.recorded();
        Ok(after)
    }
}

impl Drop for CountedWork<'_> {
    fn drop(&mut self) {
        let unrecorded = self.unrecorded.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = unrecorded.take() {
            self.company.survived(self.subject.key(), held);
        }
    }
}

/// What a quarantine's reason says that the server died of, and what the event tells besides.
pub(crate) struct HeldWork<'h> {
    pub(crate) work: Work,
    pub(crate) subject: Subject<'h>,
    pub(crate) doing: String,
    pub(crate) detail: Value,
}

/// Has work on a repository not be done any more, and says so once. Nothing else is held against it from then on: whoever
/// releases it lets it begin anew.
pub(crate) async fn hold(
    server: &Control,
    repository: &Repository,
    held: HeldWork<'_>,
    suspicion: Suspicion,
) -> Result<Quarantine, StoreError> {
    let HeldWork { work, subject, doing, mut detail } = held;
    let now = now();
    let quarantine = Quarantine { reason: suspicion.reason(&doing), since_ms: now.as_millis() };
    let mut writing = server.store().write_account(&repository.account_id).await?;
    let current = writing.repository(&repository.account_id, &repository.id).await?;
    let quarantines = current.map_or_else(|| repository.quarantines.clone(), |current| current.quarantines);
    let quarantines = quarantines.with(work, quarantine.clone());
    writing.repository_quarantine(&repository.id, &quarantines).await?;
    writing.work_ended(subject, Suspicion::default(), now).await?;
    let (of, what) = match work {
        Work::Sync => ("sync", String::new()),
        Work::PullRequests => ("pull_requests", "pull requests of ".to_owned()),
        Work::Requests => ("requests", "previews and tests of ".to_owned()),
    };
    let verb = if work == Work::Sync { "is" } else { "are" };
    let message = format!("{what}{} {verb} quarantined: {}", repository.name, quarantine.reason);
    detail["of"] = json!(of);
    let (kind, by) = (EventKind::RepositoryQuarantined, "windlass");
    writing.event(record::repository_event(kind, Severity::Critical, repository, by, message, detail, now));
    server.commit(writing).await?;
    Ok(quarantine)
}

/// Why something is not done.
pub(crate) fn refusal(quarantine: &Quarantine) -> RunError {
    let help = "look at who pushed what to the repository; once that is gone, `windlass repo release` lets it be \
                tried again";
    RunError::new(QUARANTINED, format!("quarantined: {}", quarantine.reason), help)
}
