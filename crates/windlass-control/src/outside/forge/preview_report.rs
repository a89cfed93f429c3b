//! The status, comment and event about a pull request that was previewed. Values in, values out.

use serde_json::json;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::repository::Repository;
use windlass_core::run::RunError;
use windlass_core::time::Timestamp;
use windlass_forge::api::{CommitStatus, StatusState};
use windlass_store::{PendingPullRequest, Preview, PreviewOutcome};

use crate::outside::forge::status::{context_of, count_of_changes, one_line};
use crate::outside::preview;
use crate::record::RepositoryEvent;

/// The status of the commit that a pull request would merge. It has its own context, so that it does not replace the status
/// of a sync.
pub(crate) fn preview_status(
    preview: &PullRequestPreview,
    repository_name: &str,
    public_url: Option<&str>,
) -> CommitStatus {
    let (state, description) = match preview {
        PullRequestPreview::Nothing(error) => (StatusState::Failure, error.message.clone()),
        PullRequestPreview::Plan(preview) => match preview.outcome {
            PreviewOutcome::Nothing => (StatusState::Success, "no changes".to_owned()),
            PreviewOutcome::Changes => {
                (StatusState::Success, format!("{} would be proposed", count_of_changes(preview.changes)))
            }
            PreviewOutcome::Problems => (StatusState::Failure, "the fleet has problems".to_owned()),
        },
    };
    CommitStatus {
        state,
        context: format!("{}/plan", context_of(repository_name)),
        description: one_line(&description),
        target_url: page_of(preview, public_url),
    }
}

/// Our comment on a pull request.
pub(crate) fn preview_comment(
    preview: &PullRequestPreview,
    repository: &Repository,
    commit: &str,
    public_url: Option<&str>,
) -> String {
    let short: String = commit.chars().take(10).collect();
    let text = match preview {
        PullRequestPreview::Nothing(error) => {
            format!(
                "### Windlass: no plan\n\nWindlass could not read this pull request: {}.\n",
                code(&error.message)
            )
        }
        PullRequestPreview::Plan(preview) => preview::markdown(preview).unwrap_or_else(|error| {
            tracing::error!(%error, "a stored preview cannot be read");
            "### Windlass: no plan\n".to_owned()
        }),
    };
    let page = page_of(preview, public_url).map(|url| format!(" [Full plan]({url}).")).unwrap_or_default();
    let branch = code(&repository.branch);
    format!(
        "{text}\n{short} compared with the accepted state. Windlass proposes nothing until it is merged into \
            {branch}.{page}\n"
    )
}

/// Formats a text from outside as code, so that no forge interprets markup in it.
fn code(text: &str) -> String {
    format!("`{}`", one_line(text).replace('`', "'"))
}

fn page_of(preview: &PullRequestPreview, public_url: Option<&str>) -> Option<String> {
    match preview {
        PullRequestPreview::Plan(preview) => {
            public_url.map(|url| format!("{url}/app/previews/{}", preview.id))
        }
        PullRequestPreview::Nothing(_) => None,
    }
}

pub(crate) fn preview_event(
    preview: &PullRequestPreview,
    repository: &Repository,
    pending: &PendingPullRequest,
    now: Timestamp,
) -> NewEvent {
    let (kind, severity, outcome) = match preview {
        PullRequestPreview::Plan(preview) if preview.outcome == PreviewOutcome::Problems => {
            (EventKind::PullRequestPreviewed, Severity::Medium, "has problems".to_owned())
        }
        PullRequestPreview::Plan(preview) => (
            EventKind::PullRequestPreviewed,
            Severity::Low,
            format!("would propose {}", count_of_changes(preview.changes)),
        ),
        PullRequestPreview::Nothing(error) => (
            EventKind::PullRequestUnreadable,
            Severity::Medium,
            format!("could not be read: {}", error.message),
        ),
    };
    let message = format!("pull request {} of {} {outcome}", pending.number, repository.name);
    let payload = json!({"pull_request": pending.number, "commit_sha": pending.commit_sha});
    RepositoryEvent { kind, severity, by: "windlass", message, payload }.event(repository, now)
}

/// The result of previewing a pull request.
pub(crate) enum PullRequestPreview {
    /// What it would change.
    Plan(Box<Preview>),
    /// It could not be read.
    Nothing(RunError),
}

#[cfg(test)]
mod tests {

    use super::*;
    use windlass_core::run::RunError;

    #[test]
    fn an_error_message_is_shown_without_its_markup() {
        let error = RunError {
            code: "ref-missing".to_owned(),
            message: "there is no `x` [click](https://evil.example) @everyone\n# big".to_owned(),
            help: String::new(),
        };
        let preview = PullRequestPreview::Nothing(error);
        let status = preview_status(&preview, "fleet", Some("https://windlass.example.com"));
        assert_eq!((status.state, status.context.as_str()), (StatusState::Failure, "windlass/fleet/plan"));
        assert_eq!(status.target_url, None);
        let rendered = code("there is no `x`\n# big");
        assert_eq!(rendered, "`there is no 'x' # big`");
    }
}
