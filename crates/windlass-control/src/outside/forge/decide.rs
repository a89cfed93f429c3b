//! What of a status is news, and when something is tried again. Values in, values out.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_forge::api::{CommitStatus, Retryability, StatusState};

use crate::outside::forge::problem::ForgeProblem;

/// The first pause after a failure; each is twice the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest: forges are down for hours now and then.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);

/// Failures after which it is given up: about two hours.
const ATTEMPTS: i64 = 14;

/// Where someone has to change something first: enough for a token that is just being replaced.
const ATTEMPTS_WHEN_PERMANENT: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(300)];

/// A status as it is stored until it is sent. Keys are sorted, so that the same status has the same digest.
pub(crate) fn encode_status(status: &CommitStatus) -> String {
    json!({
        "state": status.state.slug(), "context": status.context, "description": status.description,
        "target_url": status.target_url,
    })
    .to_string()
}

/// Reads a stored status back.
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

/// Whether a status says anything that the last one of the same commit does not. Every sync is a new run with a page of its
/// own, and agreement is no news after success: neither is told again.
pub(crate) fn has_changed(last: Option<&CommitStatus>, status: &CommitStatus) -> bool {
    last.is_none_or(|last| {
        let is_same = (last.state, &last.context) == (status.state, &status.context);
        !is_same || (status.state != StatusState::Success && last.description != status.description)
    })
}

/// How long to wait after so many failures; nothing if it is given up.
pub(crate) fn pause_after(failures: i64, trouble: &ForgeProblem) -> Option<Duration> {
    let nth = usize::try_from(failures).unwrap_or(usize::MAX).saturating_sub(1);
    let pause = match trouble.lasting {
        Retryability::Permanent => ATTEMPTS_WHEN_PERMANENT.get(nth).copied()?,
        Retryability::Transient if failures >= ATTEMPTS => return None,
        Retryability::Transient => {
            let doubled = FIRST_PAUSE.saturating_mul(1 << nth.min(20));
            doubled.min(LONGEST_PAUSE)
        }
    };
    Some(pause.max(trouble.retry_after.unwrap_or_default()))
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
    fn the_same_is_not_told_again_however_many_runs_find_it() {
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
    fn what_may_pass_is_tried_for_hours_and_what_lasts_is_given_up_soon() {
        let trouble = |lasting, retry_after| ForgeProblem {
            lasting,
            retry_after,
            ..ForgeProblem::setting("forge", "it is down", "")
        };
        let passing = trouble(Retryability::Transient, None);
        let pauses: Vec<u64> = (1..)
            .map_while(|failures| pause_after(failures, &passing))
            .map(|pause| pause.as_secs())
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1800, 1800]);
        let lasting = trouble(Retryability::Permanent, None);
        assert_eq!((1..9).map_while(|failures| pause_after(failures, &lasting)).count(), 2);
        let asked = trouble(Retryability::Transient, Some(Duration::from_secs(90)));
        assert_eq!(pause_after(1, &asked), Some(Duration::from_secs(90)));
        assert_eq!(pause_after(11, &asked), Some(Duration::from_secs(1024)));
    }
}
