//! Sending: the one part of this crate that touches the world. It decides nothing but what an answer means.

mod http;
mod smtp;
mod target;

use std::time::Duration;

use windlass_core::resource::NotificationProviderSpec;
use windlass_core::time::Timestamp;
use windlass_outbound::Guard;

pub use target::{Fields, SendError, Target};

use crate::clean::line;
use crate::render::Payload;

/// Whether receivers may be spoken to without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// No.
    Refused,
    /// Yes, but only on this machine.
    OnThisMachine,
}

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

/// What is sent, and the id that stays the same over all attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel<'p> {
    pub(crate) payload: &'p Payload,
    pub(crate) delivery: &'p str,
    pub(crate) kind: &'p str,
    pub(crate) now: Timestamp,
}

/// Sends messages.
#[derive(Clone, Debug)]
pub struct Sender {
    http: http::Clients,
    guard: Guard,
    plain: Plain,
}

impl Sender {
    /// A sender; `plain` says whether receivers on this machine may be spoken to, and there without TLS. The guard
    /// refuses every other address that may not be connected to.
    pub fn new(plain: Plain, guard: &Guard) -> Result<Sender, SendError> {
        let guard = match plain {
            Plain::Refused => guard.clone(),
            Plain::OnThisMachine => guard.with_rules(guard.rules().with_loopback()),
        };
        Ok(Sender { http: http::Clients::new(plain, &guard)?, guard, plain })
    }

    /// Sends one message, once. `kind` is the kind of event, for the receiver's routing.
    pub async fn send(
        &self,
        provider: &NotificationProviderSpec,
        fields: &Fields,
        payload: &Payload,
        delivery: &str,
        kind: &str,
        now: Timestamp,
    ) -> Outcome {
        let target = match Target::of(provider, fields) {
            Ok(target) => target,
            Err(error) => return Outcome::Never { reason: error.to_string() },
        };
        let parcel = Parcel { payload, delivery, kind, now };
        let outcome = match (&target, payload) {
            (Target::Http(web), Payload::Json(_)) => self.http.post(web, parcel).await,
            (Target::Mail(post), Payload::Mail(mail)) => {
                smtp::send(post, mail, parcel, (&self.guard, self.plain)).await
            }
            (Target::Http(_), Payload::Mail(_)) | (Target::Mail(_), Payload::Json(_)) => {
                Err(SendError::Mismatch)
            }
        };
        let outcome = outcome.unwrap_or_else(|error| error.outcome());
        outcome.without(&target.secrets())
    }
}

impl Outcome {
    /// The same in one bounded line in which none of these secrets stands.
    fn without(self, secrets: &[&str]) -> Outcome {
        let told = |text: String| {
            let hidden = secrets
                .iter()
                .filter(|secret| secret.len() > 3)
                .fold(text, |text, secret| text.replace(secret, windlass_core::secret::HIDDEN));
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
