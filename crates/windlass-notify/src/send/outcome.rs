//! What became of an attempt.

use std::time::Duration;

use windlass_core::secret::HIDDEN;

use crate::sanitize::line;

/// As much of an answer as a person wants to read.
const TOLD: usize = 300;

/// What became of an attempt. Reasons hold no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The receiver has it.
    Done {
        /// What it answered, in a few words.
        answer: String,
    },
    /// Not now.
    Retry {
        /// Why.
        reason: String,
        /// How long the receiver asked to wait.
        after: Option<Duration>,
    },
    /// Never like this: someone must change something first.
    Permanent {
        /// Why.
        reason: String,
    },
}

impl SendOutcome {
    /// The same in one bounded line in which none of these secrets stands.
    pub(super) fn without(self, secrets: &[&str]) -> SendOutcome {
        let told = |text: String| {
            let hidden = secrets
                .iter()
                .filter(|secret| secret.len() > 3)
                .fold(text, |text, secret| text.replace(secret, HIDDEN));
            line(&hidden, TOLD)
        };
        match self {
            SendOutcome::Done { answer } => SendOutcome::Done { answer: told(answer) },
            SendOutcome::Retry { reason, after } => SendOutcome::Retry { reason: told(reason), after },
            SendOutcome::Permanent { reason } => SendOutcome::Permanent { reason: told(reason) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_repeats_a_secret_does_not_tell_it() {
        let told = SendOutcome::Permanent { reason: "no hook at /services/T0/hunter2\r\nX: y".to_owned() };
        let told = told.without(&["/services/T0/hunter2", "ok"]);
        assert_eq!(told, SendOutcome::Permanent { reason: "no hook at (hidden) X: y".to_owned() });
    }
}
