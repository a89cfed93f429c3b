//! Recording changes of repositories in the audit log and as events.

use serde_json::Value;
use windlass_core::event::{EventKind, Severity};
use windlass_core::repository::Repository;
use windlass_store::AccountWriting;

use crate::caller::Identity;
use crate::record::{self, RepositoryEvent};

/// Records an action on a repository, in the audit log and as an event.
pub(crate) fn record(
    writing: &mut AccountWriting,
    who: &Identity,
    action: &'static str,
    repository: &Repository,
    detail: Value,
    now: windlass_core::time::Timestamp,
) {
    writing.audit(record::audit_entry(
        &who.actor(),
        action,
        ("repository", &repository.name),
        detail.clone(),
        now,
    ));
    let (kind, word) = match action {
        "repository.register" => (EventKind::RepositoryRegistered, "registered"),
        "repository.remove" => (EventKind::RepositoryRemoved, "removed"),
        "repository.move" => (EventKind::RepositoryMoved, "moved"),
        _ => (EventKind::RepositoryChanged, "changed"),
    };
    let message = format!("{} {word} the repository {}", who.email, repository.name);
    let news = RepositoryEvent { kind, severity: Severity::Low, by: &who.email, message, payload: detail };
    writing.event(news.event(repository, now));
}
