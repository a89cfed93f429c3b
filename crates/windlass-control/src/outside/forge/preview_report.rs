//! What is said about a pull request that was looked at. Values in, values out.

use serde_json::json;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::repository::Repository;
use windlass_core::run::RunError;
use windlass_core::time::Timestamp;
use windlass_forge::api::{CommitStatus, StatusState};
use windlass_store::{PendingPullRequest, Preview, PreviewOutcome};

use crate::outside::forge::status::{changes, context_of, one_line};
use crate::outside::preview;
use crate::record::RepositoryEvent;

/// The status of the commit that a pull request would merge. It has a context of its own: what is planned is not what
/// became of it.
pub(crate) fn preview_status(
    foreseen: &PullRequestPreview,
    repository_name: &str,
    public_url: Option<&str>,
) -> CommitStatus {
    let (state, description) = match foreseen {
        PullRequestPreview::Nothing(error) => (StatusState::Failure, error.message.clone()),
        PullRequestPreview::Plan(preview) => match preview.outcome {
            PreviewOutcome::Nothing => (StatusState::Success, "no changes".to_owned()),
            PreviewOutcome::Changes => {
                (StatusState::Success, format!("{} would be proposed", changes(preview.changes)))
            }
            PreviewOutcome::Problems => (StatusState::Failure, "the fleet has problems".to_owned()),
        },
    };
    CommitStatus {
        state,
        context: format!("{}/plan", context_of(repository_name)),
        description: one_line(&description),
        target_url: page_of(foreseen, public_url),
    }
}

/// Our comment on a pull request.
pub(crate) fn preview_comment(
    foreseen: &PullRequestPreview,
    repository: &Repository,
    commit: &str,
    public_url: Option<&str>,
) -> String {
    let short: String = commit.chars().take(10).collect();
    let told = match foreseen {
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
    let page = page_of(foreseen, public_url).map(|url| format!(" [Full plan]({url}).")).unwrap_or_default();
    let branch = code(&repository.branch);
    format!(
        "{told}\n{short} compared with the accepted state. Windlass proposes nothing until it is merged into \
            {branch}.{page}\n"
    )
}

/// A text that is not ours, so that no forge takes anything in it for markup.
fn code(text: &str) -> String {
    format!("`{}`", one_line(text).replace('`', "'"))
}

fn page_of(foreseen: &PullRequestPreview, public_url: Option<&str>) -> Option<String> {
    match foreseen {
        PullRequestPreview::Plan(preview) => {
            public_url.map(|url| format!("{url}/app/previews/{}", preview.id))
        }
        PullRequestPreview::Nothing(_) => None,
    }
}

pub(crate) fn preview_event(
    foreseen: &PullRequestPreview,
    repository: &Repository,
    wish: &PendingPullRequest,
    now: Timestamp,
) -> NewEvent {
    let (kind, severity, told) = match foreseen {
        PullRequestPreview::Plan(preview) if preview.outcome == PreviewOutcome::Problems => {
            (EventKind::PullRequestPreviewed, Severity::Medium, "has problems".to_owned())
        }
        PullRequestPreview::Plan(preview) => (
            EventKind::PullRequestPreviewed,
            Severity::Low,
            format!("would propose {}", changes(preview.changes)),
        ),
        PullRequestPreview::Nothing(error) => (
            EventKind::PullRequestUnreadable,
            Severity::Medium,
            format!("could not be read: {}", error.message),
        ),
    };
    let message = format!("pull request {} of {} {told}", wish.number, repository.name);
    let payload = json!({"pull_request": wish.number, "commit_sha": wish.commit_sha});
    RepositoryEvent { kind, severity, by: "windlass", message, payload }.event(repository, now)
}

/// What came of looking at a pull request.
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
    fn what_could_not_be_read_is_told_without_any_markup_of_its_own() {
        let error = RunError {
            code: "ref-missing".to_owned(),
            message: "there is no `x` [click](https://evil.example) @everyone\n# big".to_owned(),
            help: String::new(),
        };
        let foreseen = PullRequestPreview::Nothing(error);
        let status = preview_status(&foreseen, "fleet", Some("https://windlass.example.com"));
        assert_eq!((status.state, status.context.as_str()), (StatusState::Failure, "windlass/fleet/plan"));
        assert_eq!(status.target_url, None);
        let told = code("there is no `x`\n# big");
        assert_eq!(told, "`there is no 'x' # big`");
    }
}
