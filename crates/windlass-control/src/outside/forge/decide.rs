//! Decides whether a status has changed and when to retry. Values in, values out.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_forge::api::{CommitStatus, Retryability, StatusState};

use crate::outside::forge::problem::ForgeProblem;

/// The first pause after a failure; each pause is twice the previous one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause: forges are sometimes down for hours.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);

/// Failures after which Windlass stops retrying: about an hour and a half of pauses.
const ATTEMPTS: i64 = 14;

/// Pauses after permanent failures, which someone has to fix: enough for a token that is just being replaced.
const ATTEMPTS_WHEN_PERMANENT: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(300)];

/// A status as it is stored until it is sent. Keys are sorted, so that the same status has the same digest.
pub(crate) fn encode_status(status: &CommitStatus) -> String {
    json!({
        "state": status.state.slug(), "context": status.context, "description": status.description,
        "target_url": status.target_url,
    })
    .to_string()
}

/// Parses a stored status.
pub(crate) fn decode_status(content: &str) -> Option<CommitStatus> {
    let value: Value = serde_json::from_str(content).ok()?;
    let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
    Some(CommitStatus {
        state: StatusState::from_slug(&text("state")?)?,
        context: text("context")?,
        description: text("description")?,
        target_url: text("target_url"),
    })
}

/// Whether a status differs from the last one of the same commit. Another URL does not count, because every sync is a new run
/// with its own page; neither does another description after success.
pub(crate) fn has_changed(last: Option<&CommitStatus>, status: &CommitStatus) -> bool {
    last.is_none_or(|last| {
        let is_same = (last.state, &last.context) == (status.state, &status.context);
        !is_same || (status.state != StatusState::Success && last.description != status.description)
    })
}

/// How long to wait after this many failures; none to stop retrying.
pub(crate) fn pause_after(failures: i64, problem: &ForgeProblem) -> Option<Duration> {
    let nth = usize::try_from(failures).unwrap_or(usize::MAX).saturating_sub(1);
    let pause = match problem.lasting {
        Retryability::Permanent => ATTEMPTS_WHEN_PERMANENT.get(nth).copied()?,
        Retryability::Transient if failures >= ATTEMPTS => return None,
        Retryability::Transient => {
            let doubled = FIRST_PAUSE.saturating_mul(1 << nth.min(20));
            doubled.min(LONGEST_PAUSE)
        }
    };
    Some(pause.max(problem.retry_after.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: StatusState, description: &str, url: &str) -> CommitStatus {
        CommitStatus {
            state,
            context: "windlass/fleet".to_owned(),
            description: description.to_owned(),
            target_url: Some(url.to_owned()),
        }
    }

    #[test]
    fn an_unchanged_status_is_not_sent_again_by_later_runs() {
        use StatusState::Pending;
        use StatusState::Success;
        let waits = status(Pending, "3 changes wait", "/1");
        assert!(has_changed(None, &waits));
        assert!(!has_changed(Some(&waits), &status(Pending, "3 changes wait", "/2")));
        assert!(has_changed(Some(&waits), &status(Pending, "2 changes wait", "/1")));
        let applied = status(Success, "3 changes applied", "/1");
        assert!(has_changed(Some(&waits), &applied));
        assert!(!has_changed(Some(&applied), &status(Success, "in sync with git", "/3")));
        assert!(has_changed(Some(&applied), &waits));
        let renamed = CommitStatus { context: "windlass/other".to_owned(), ..applied.clone() };
        assert!(has_changed(Some(&applied), &renamed));
        assert_eq!(decode_status(&encode_status(&applied)), Some(applied));
        assert_eq!(decode_status("nonsense"), None);
    }

    #[test]
    fn transient_failures_are_retried_for_hours_and_permanent_ones_only_twice() {
        let problem = |lasting, retry_after| ForgeProblem {
            lasting,
            retry_after,
            ..ForgeProblem::setting("forge", "it is down", "")
        };
        let passing = problem(Retryability::Transient, None);
        let pauses: Vec<u64> = (1..)
            .map_while(|failures| pause_after(failures, &passing))
            .map(|pause| pause.as_secs())
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1800, 1800]);
        let lasting = problem(Retryability::Permanent, None);
        assert_eq!((1..9).map_while(|failures| pause_after(failures, &lasting)).count(), 2);
        let asked = problem(Retryability::Transient, Some(Duration::from_secs(90)));
        assert_eq!(pause_after(1, &asked), Some(Duration::from_secs(90)));
        assert_eq!(pause_after(11, &asked), Some(Duration::from_secs(1024)));
    }
}
