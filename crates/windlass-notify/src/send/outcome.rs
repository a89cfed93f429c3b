//! What became of an attempt.

use std::time::Duration;

use windlass_core::secret::HIDDEN;

use crate::clean::line;

/// As much of an answer as a person wants to read.
const TOLD: usize = 300;

/// What became of an attempt. Reasons hold no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has it.
    Done {
        /// What it answered, in a few words.
        answer: String,
    },
    /// Not now.
    Later {
        /// Why.
        reason: String,
        /// How long the receiver asked to wait.
        after: Option<Duration>,
    },
    /// Never like this: someone must change something first.
    Never {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// The same in one bounded line in which none of these secrets stands.
    pub(super) fn without(self, secrets: &[&str]) -> Outcome {
        let told = |text: String| {
            let hidden = secrets
                .iter()
                .filter(|secret| secret.len() > 3)
                .fold(text, |text, secret| text.replace(secret, HIDDEN));
            line(&hidden, TOLD)
        };
        match self {
            Outcome::Done { answer } => Outcome::Done { answer: told(answer) },
            Outcome::Later { reason, after } => Outcome::Later { reason: told(reason), after },
            Outcome::Never { reason } => Outcome::Never { reason: told(reason) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_repeats_a_secret_does_not_tell_it() {
        let told = Outcome::Never { reason: "no hook at /services/T0/hunter2\r\nX: y".to_owned() };
        let told = told.without(&["/services/T0/hunter2", "ok"]);
        assert_eq!(told, Outcome::Never { reason: "no hook at (hidden) X: y".to_owned() });
    }
}
