//! Releasing quarantined repositories.

use serde_json::json;
use windlass_api::types::RepositoryInfo;
use windlass_core::event::{EventKind, Severity};
use windlass_core::quarantine::Quarantines;

use crate::ask::repository::find::{find, load};
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::record::{self, RepositoryEvent};
use crate::refusal::Refusal;

/// Releases all quarantined work of a repository and makes its next sync due now. Records nothing if nothing was quarantined.
pub async fn release_all(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
) -> Result<RepositoryInfo, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id_or_name).await?;
    if repository.quarantines.is_empty() {
        return load(&mut writing, who, id_or_name).await;
    }
    writing.repository_quarantine(&repository.id, &Quarantines::default()).await?;
    if repository.enabled {
        writing.repository_sync_by(&repository.id, now).await?;
    }
    let detail = json!({"released": repository.quarantines});
    let target = ("repository", repository.name.as_str());
    writing.audit(record::audit_entry(&who.actor(), "repository.release", target, detail.clone(), now));
    let message = format!("{} released the repository {}", who.email, repository.name);
    let news = RepositoryEvent {
        kind: EventKind::RepositoryReleased,
        severity: Severity::Medium,
        by: &who.email,
        message,
        payload: detail,
    };
    writing.event(news.event(&repository, now));
    let released = load(&mut writing, who, repository.id.as_str()).await?;
    server.commit(writing).await?;
    server.nudges().sync.notify_one();
    Ok(released)
}
