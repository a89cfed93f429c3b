//! The result of an attempt to send a message.

use std::time::Duration;

use windlass_core::secret::HIDDEN;

use crate::sanitize::single_line;

/// How many characters of a response are kept.
const MAX_ANSWER_CHARS: usize = 300;

/// The result of an attempt. Reasons contain no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The receiver accepted the message.
    Done {
        /// The response, shortened.
        answer: String,
    },
    /// A transient failure.
    Retry {
        /// The reason.
        reason: String,
        /// The receiver's Retry-After.
        after: Option<Duration>,
    },
    /// A permanent failure: someone must change the configuration first.
    Permanent {
        /// The reason.
        reason: String,
    },
}

impl SendOutcome {
    /// The same outcome as one line of limited length, with these secrets masked.
    pub(super) fn mask_secrets(self, secrets: &[&str]) -> SendOutcome {
        let sent_fields = |text: String| {
            let hidden = secrets
                .iter()
                .filter(|secret| secret.len() > 3)
                .fold(text, |text, secret| text.replace(secret, HIDDEN));
            single_line(&hidden, MAX_ANSWER_CHARS)
        };
        match self {
            SendOutcome::Done { answer } => SendOutcome::Done { answer: sent_fields(answer) },
            SendOutcome::Retry { reason, after } => SendOutcome::Retry { reason: sent_fields(reason), after },
            SendOutcome::Permanent { reason } => SendOutcome::Permanent { reason: sent_fields(reason) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_repeats_a_secret_does_not_tell_it() {
        let sent_fields =
            SendOutcome::Permanent { reason: "no hook at /services/T0/hunter2\r\nX: y".to_owned() };
        let sent_fields = sent_fields.mask_secrets(&["/services/T0/hunter2", "ok"]);
        assert_eq!(sent_fields, SendOutcome::Permanent { reason: "no hook at (hidden) X: y".to_owned() });
    }
}
