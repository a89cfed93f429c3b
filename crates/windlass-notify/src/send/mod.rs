//! Sending: the one part of this crate that touches the world. It decides nothing but what an answer means.

mod http;
mod outcome;
mod parcel;
mod smtp;
mod target;

use windlass_core::resource::NotificationProviderSpec;
use windlass_core::time::Timestamp;
use windlass_outbound::Guard;

pub use outcome::Outcome;
pub use parcel::Plain;
pub use target::{Fields, SendError, Target};

use self::parcel::Parcel;
use crate::render::Payload;

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
