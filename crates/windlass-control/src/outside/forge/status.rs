//! The commit status of a run. Values in, values out.

use windlass_core::proposal::Status;
use windlass_core::run::{Run, RunStatus};
use windlass_core::secret::without_secrets;
use windlass_forge::api::{CommitStatus, MAX_DESCRIPTION, StatusState};

/// The context of a status: one per repository, because several may read the same commit.
pub(crate) fn context_of(repository_name: &str) -> String {
    format!("windlass/{repository_name}")
}

/// The status of the commit that a run read, from the states of its proposals. Contains nothing that the run's page does not
/// show, and no secret: everyone who sees the commit sees the status.
pub(crate) fn status_of(
    run: &Run,
    tally: &[(Status, usize)],
    repository_name: &str,
    public_url: Option<&str>,
) -> CommitStatus {
    let (state, description) = status_text(run, tally);
    CommitStatus {
        state,
        context: context_of(repository_name),
        description: one_line(&description),
        target_url: public_url.map(|url| format!("{url}/app/runs/{}", run.id)),
    }
}

fn status_text(run: &Run, tally: &[(Status, usize)]) -> (StatusState, String) {
    use StatusState::Failure;
    use StatusState::Pending;
    use StatusState::Success;

    let of = |wanted: Status| tally.iter().filter(|(status, _)| *status == wanted).map(|(_, n)| n).sum();
    let (waiting, approved): (usize, usize) = (of(Status::PendingApproval), of(Status::Approved));
    let failed: usize = of(Status::Failed);
    let later = match run.remaining {
        0 => String::new(),
        count => format!(", {count} more follow"),
    };
    match run.status {
        RunStatus::InProgress => (Pending, "comparing with the accepted state".to_owned()),
        RunStatus::Success => (Success, "in sync with git".to_owned()),
        RunStatus::Applied => (Success, format!("{} applied", count_of_changes(of(Status::Applied)))),
        RunStatus::AppliedManually => (Success, "every change was made manually".to_owned()),
        RunStatus::Failed => (Failure, reason(run)),
        RunStatus::DiffReady | RunStatus::Partial => match (waiting, approved) {
            (0, 0) if run.remaining > 0 => {
                (Pending, format!("{} not proposed yet", count_of_changes(run.remaining)))
            }
            (0, 0) if failed > 0 => (Failure, format!("{} failed", count_of_changes(failed))),
            (0, 0) => (Failure, "not everything was applied: rejected, expired or blocked".to_owned()),
            (0, approved) => {
                (Pending, format!("{} approved, not applied yet{later}", count_of_changes(approved)))
            }
            (1, _) => (Pending, format!("1 change pending approval{later}")),
            (waiting, _) => (Pending, format!("{waiting} changes pending approval{later}")),
        },
    }
}

fn reason(run: &Run) -> String {
    match &run.error {
        Some(error) => error.message.clone(),
        None => "every change failed".to_owned(),
    }
}

pub(crate) fn count_of_changes(count: usize) -> String {
    if count == 1 { "1 change".to_owned() } else { format!("{count} changes") }
}

/// A text on one line without secrets, cut to the length that forges accept.
pub(crate) fn one_line(text: &str) -> String {
    let clean: String = without_secrets(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match clean.chars().count() > MAX_DESCRIPTION {
        true => clean.chars().take(MAX_DESCRIPTION - 1).chain(['…']).collect(),
        false => clean,
    }
}

/// The status of a commit that another commit replaced while it was still pending.
pub(crate) fn replaced_status(commit: &str, repository_name: &str) -> CommitStatus {
    let short: String = commit.chars().take(12).collect();
    CommitStatus {
        state: StatusState::Success,
        context: context_of(repository_name),
        description: format!("replaced by {short} before every change was reviewed"),
        target_url: None,
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::id::{AccountId, RepositoryId, RunId};
    use windlass_core::repository::Repository;
    use windlass_core::run::RunError;
    use windlass_core::time::Timestamp;

    use super::*;

    fn run(status: RunStatus, remaining: usize) -> Run {
        let place = ("fleet", "https://git.example.com/fleet");
        let fleet =
            Repository::new(RepositoryId::new("r"), &AccountId::new("a"), place, Timestamp::from_millis(0));
        let mut run = Run::queued(RunId::new("1"), &fleet, Timestamp::from_millis(0));
        (run.status, run.remaining) = (status, remaining);
        run
    }

    fn described(status: RunStatus, remaining: usize, tally: &[(Status, usize)]) -> String {
        let status = status_of(&run(status, remaining), tally, "fleet", None);
        format!("{}: {}", status.state.slug(), status.description)
    }

    #[test]
    fn a_commit_is_pending_until_every_change_is_decided_and_then_succeeds_or_fails() {
        use RunStatus::Applied;
        use RunStatus::AppliedManually;
        use RunStatus::DiffReady;
        use RunStatus::Failed;
        use RunStatus::InProgress;
        use RunStatus::Partial;
        use RunStatus::Success;
        use Status::Applied as Done;
        use Status::Approved;
        use Status::Failed as Broken;
        use Status::PendingApproval as Waits;
        use Status::Rejected;
        for (status, remaining, tally, expected) in [
            (InProgress, 0, vec![], "pending: comparing with the accepted state"),
            (Success, 0, vec![], "success: in sync with git"),
            (DiffReady, 0, vec![(Waits, 3)], "pending: 3 changes pending approval"),
            (DiffReady, 0, vec![(Waits, 1), (Done, 4)], "pending: 1 change pending approval"),
            (DiffReady, 0, vec![(Approved, 1)], "pending: 1 change approved, not applied yet"),
            (Partial, 75, vec![(Waits, 25)], "pending: 25 changes pending approval, 75 more follow"),
            (Partial, 75, vec![(Done, 25)], "pending: 75 changes not proposed yet"),
            (Applied, 0, vec![(Done, 5)], "success: 5 changes applied"),
            (
                AppliedManually,
                0,
                vec![(Status::AppliedManually, 1)],
                "success: every change was made manually",
            ),
            (Partial, 0, vec![(Done, 4), (Broken, 1)], "failure: 1 change failed"),
            (Failed, 0, vec![(Broken, 2)], "failure: every change failed"),
            (
                DiffReady,
                0,
                vec![(Rejected, 1)],
                "failure: not everything was applied: rejected, expired or blocked",
            ),
        ] {
            assert_eq!(described(status, remaining, &tally), expected);
        }
    }

    #[test]
    fn a_failure_is_described_in_one_short_line_without_secrets() {
        let mut failed = run(RunStatus::Failed, 0);
        let message = format!("cannot reach https://ada:hunter2@git.example.com\n{}", "x".repeat(300));
        failed.error = Some(RunError::new("fetch", message, ""));
        let status = status_of(&failed, &[], "fleet", Some("https://windlass.example.com"));
        assert_eq!((status.state, status.context.as_str()), (StatusState::Failure, "windlass/fleet"));
        assert_eq!(status.description.chars().count(), MAX_DESCRIPTION);
        assert!(!status.description.contains("hunter2") && !status.description.contains('\n'));
        assert_eq!(status.target_url, Some(format!("https://windlass.example.com/app/runs/{}", failed.id)));
    }
}
