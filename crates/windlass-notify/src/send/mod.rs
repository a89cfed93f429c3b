//! Sends messages. The only part of this crate with side effects; its only decision is how to classify a response.

mod http;
mod outcome;
mod outgoing_message;
mod smtp;
mod target;

use windlass_core::resource::NotificationProviderSpec;
use windlass_outbound::AddressGuard;

pub use outcome::SendOutcome;
pub use outgoing_message::{OutgoingMessage, PlaintextPolicy};
pub use target::{CredentialFields, SendError, SendTarget};

use crate::render::Payload;

/// Sends messages.
#[derive(Clone, Debug)]
pub struct NotificationSender {
    http: http::HttpSender,
    guard: AddressGuard,
    plain: PlaintextPolicy,
}

impl NotificationSender {
    /// Creates a sender. `plain` says whether it connects to receivers on this machine, and without TLS there. The
    /// guard refuses every other address that the server may not connect to.
    pub fn new(plain: PlaintextPolicy, guard: &AddressGuard) -> Result<NotificationSender, SendError> {
        let guard = match plain {
            PlaintextPolicy::Refused => guard.clone(),
            PlaintextPolicy::OnThisMachine => guard.with_rules(guard.rules().with_loopback()),
        };
        Ok(NotificationSender { http: http::HttpSender::new(plain, &guard)?, guard, plain })
    }

    /// Sends one message, with a single attempt.
    pub async fn send(
        &self,
        provider: &NotificationProviderSpec,
        fields: &CredentialFields,
        outgoing: OutgoingMessage<'_>,
    ) -> SendOutcome {
        let target = match SendTarget::of(provider, fields) {
            Ok(target) => target,
            Err(error) => return SendOutcome::Permanent { reason: error.to_string() },
        };
        let outcome = match (&target, outgoing.payload) {
            (SendTarget::Http(http_target), Payload::Json(_)) => self.http.post(http_target, outgoing).await,
            (SendTarget::Mail(mail_target), Payload::Mail(mail)) => {
                smtp::send(mail_target, mail, outgoing, (&self.guard, self.plain)).await
            }
            (SendTarget::Http(_), Payload::Mail(_)) | (SendTarget::Mail(_), Payload::Json(_)) => {
                Err(SendError::Mismatch)
            }
        };
        let outcome = outcome.unwrap_or_else(|error| error.outcome());
        outcome.mask_secrets(&target.secrets())
    }
}
