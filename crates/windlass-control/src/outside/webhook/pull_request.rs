//! Webhook deliveries about pull requests: those into the tracked branch are queued for a preview.

use windlass_core::repository::Repository;
use windlass_core::time::Timestamp;
use windlass_forge::hook::{CommitOrigin, PullRequest, PullRequestAction, WebhookSender};
use windlass_store::{AccountWriting, PendingPullRequest, StoreError};

use crate::outside::webhook::outcome::DeliveryOutcome;

/// Processes an opened, changed or closed pull request of a repository. The caller's transaction commits it together with the
/// record of the delivery.
pub(crate) async fn pull_request_changed(
    writing: &mut AccountWriting,
    repository: &Repository,
    sender: WebhookSender,
    request: &PullRequest,
    now: Timestamp,
) -> Result<DeliveryOutcome, StoreError> {
    let ignored = |reason: String| Ok(DeliveryOutcome::Ignored(reason));
    let Ok(number) = i64::try_from(request.number) else {
        return ignored("not a valid pull request number".to_owned());
    };
    if request.base_branch != repository.branch {
        return ignored(format!("the pull request is not for the branch {}", repository.branch));
    }
    match (request.action, request.reference(sender)) {
        (PullRequestAction::Opened | PullRequestAction::Updated, _)
            if request.origin == CommitOrigin::Fork && !plans_forks(repository) =>
        {
            ignored(format!(
                "pull request {number} comes from a fork, and {} does not plan those: set previews_of_forks in its \
                    forge settings to allow it",
                repository.name
            ))
        }
        (PullRequestAction::Opened | PullRequestAction::Updated, _)
            if repository.quarantines.pull_requests.is_some() =>
        {
            ignored(format!("pull requests of {} are quarantined until someone releases it", repository.name))
        }
        (PullRequestAction::Opened | PullRequestAction::Updated, Some(reference)) => {
            let pending = PendingPullRequest {
                account_id: repository.account_id.clone(),
                repository_id: repository.id.clone(),
                number,
                reference,
                commit_sha: request.head_sha.clone(),
                attempts: 0,
            };
            writing.pull_request_add(&pending, now).await?;
            Ok(DeliveryOutcome::Accepted)
        }
        (PullRequestAction::Opened | PullRequestAction::Updated, None) => {
            ignored("this forge has no fetchable pull-request references".to_owned())
        }
        (PullRequestAction::Closed, _) => {
            writing.pull_request_delete_closed(&repository.id, number).await?;
            ignored("the pull request is closed".to_owned())
        }
        (PullRequestAction::Other, _) => ignored("the pull request's content did not change".to_owned()),
    }
}

/// Whether pull requests from forks are planned, which anybody can open.
fn plans_forks(repository: &Repository) -> bool {
    repository.forge.as_ref().is_some_and(|forge| forge.previews_of_forks)
}
