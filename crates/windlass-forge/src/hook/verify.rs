//! Verifies that a delivery was signed with the secret. The body is not parsed here.

use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use subtle::ConstantTimeEq as _;
use windlass_core::digest::Digest;
use windlass_core::time::Timestamp;

use super::content::{DeliveryContent, read};
use super::pusher::{self, Pusher};
use super::secret::{WebhookSecret, unhex};
use super::sender::{WebhookSender, event_headers, sender_of};

/// How far a signed timestamp may differ from our clock: a tolerance for clock differences that limits how long a
/// recorded request can be replayed.
pub const SIGNATURE_TIME_TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// Longer than any event name of a forge; people see the name.
const MAX_EVENT_CHARS: usize = 64;

/// A request whose signature was not checked yet.
#[derive(Clone, Copy)]
pub struct UnverifiedDelivery<'h, 'b> {
    /// A header's text by its name in lower case.
    pub header: &'h dyn Fn(&str) -> Option<&'h str>,
    /// The body, byte for byte as it was signed.
    pub body: &'b [u8],
}

/// A request that was signed with the secret.
#[derive(Clone, Debug)]
pub struct VerifiedDelivery<'b> {
    /// Who sent it.
    pub sender: WebhookSender,
    /// The event named by the header; empty if there is none.
    pub event: String,
    /// Identifies the delivery. It is computed only from signed content: whoever replays a request can change unsigned
    /// headers.
    pub identity: Digest,
    body: &'b [u8],
}

impl VerifiedDelivery<'_> {
    /// The content of the delivery.
    pub fn content(&self) -> DeliveryContent {
        read(self.sender, &self.event, self.body)
    }

    /// The pusher, if the body names one.
    pub fn pusher(&self) -> Option<Pusher> {
        pusher::read(self.sender, self.body)
    }
}

/// Why a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureRefusal {
    /// No header identifies the sender.
    #[error("no header identifies the sender")]
    Unknown,
    /// There is no signature.
    #[error("it is not signed: set the secret on the forge")]
    Unsigned,
    /// The signature does not match the secret.
    #[error("its signature does not match the secret")]
    Wrong,
    /// It was signed too long ago, or in the future.
    #[error("the signature's time is too far from now: a replayed delivery, or a wrong clock")]
    OutsideTimeWindow,
}

/// Verifies the signature of a request in constant time.
pub fn verify<'b>(
    delivery: UnverifiedDelivery<'_, 'b>,
    secret: &WebhookSecret,
    now: Timestamp,
) -> Result<VerifiedDelivery<'b>, SignatureRefusal> {
    let sender = sender_of(delivery.header).ok_or(SignatureRefusal::Unknown)?;
    let header = |names: &[&str]| names.iter().find_map(|name| (delivery.header)(name));
    let identity = match sender {
        WebhookSender::GitHub => verify_body_hmac(delivery, header(&["x-hub-signature-256"]), secret)?,
        WebhookSender::Gitea => {
            verify_body_hmac(delivery, header(&["x-forgejo-signature", "x-gitea-signature"]), secret)?
        }
        WebhookSender::Bitbucket => verify_body_hmac(delivery, header(&["x-hub-signature"]), secret)?,
        WebhookSender::GitLab => match header(&["webhook-signature"]) {
            // If there is a signature, only the signature counts: a valid token beside a wrong signature does not help.
            Some(signature) => verify_standard_webhook(delivery, signature, secret, now)?,
            None => verify_plain_token(delivery, secret)?,
        },
        WebhookSender::Generic => {
            verify_timestamped_hmac(delivery, header(&["x-windlass-signature"]), secret, now)?
        }
    };
    let event = header(event_headers(sender)).unwrap_or_default();
    let event = event.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(MAX_EVENT_CHARS).collect();
    Ok(VerifiedDelivery { sender, event, identity, body: delivery.body })
}

/// `sha256=<hex>` or `<hex>`: the HMAC of the body.
fn verify_body_hmac(
    delivery: UnverifiedDelivery<'_, '_>,
    signature: Option<&str>,
    secret: &WebhookSecret,
) -> Result<Digest, SignatureRefusal> {
    let signature = signature.ok_or(SignatureRefusal::Unsigned)?.trim();
    let tag = unhex(signature.strip_prefix("sha256=").unwrap_or(signature)).ok_or(SignatureRefusal::Wrong)?;
    hmac::verify(&secret.text_key(), delivery.body, &tag).map_err(|_| SignatureRefusal::Wrong)?;
    Ok(Digest::of(delivery.body))
}

/// GitLab's older method: the header is the secret itself. Whoever has seen it can send any body, so the delivery id in
/// the header is used as it is.
fn verify_plain_token(
    delivery: UnverifiedDelivery<'_, '_>,
    secret: &WebhookSecret,
) -> Result<Digest, SignatureRefusal> {
    let token = (delivery.header)("x-gitlab-token").ok_or(SignatureRefusal::Unsigned)?;
    if !bool::from(token.as_bytes().ct_eq(secret.text().expose().as_bytes())) {
        return Err(SignatureRefusal::Wrong);
    }
    let name = ["idempotency-key", "x-gitlab-event-uuid"].iter().find_map(|name| (delivery.header)(name));
    Ok(Digest::of_parts([name.unwrap_or_default().as_bytes(), delivery.body]))
}

/// GitLab's signing token, as in Standard Webhooks: `webhook-signature: v1,<base64> …` over id, time and body.
fn verify_standard_webhook(
    delivery: UnverifiedDelivery<'_, '_>,
    signatures: &str,
    secret: &WebhookSecret,
    now: Timestamp,
) -> Result<Digest, SignatureRefusal> {
    let header = |name: &str| (delivery.header)(name).ok_or(SignatureRefusal::Unsigned);
    let (id, time) = (header("webhook-id")?, header("webhook-timestamp")?);
    let message = [id.as_bytes(), b".", time.as_bytes(), b".", delivery.body].concat();
    let key = secret.raw_key();
    let is_ours = |signature: &str| {
        let tag = signature.strip_prefix("v1,").and_then(|text| STANDARD.decode(text).ok());
        tag.is_some_and(|tag| hmac::verify(&key, &message, &tag).is_ok())
    };
    if !signatures.split(' ').any(is_ours) {
        return Err(SignatureRefusal::Wrong);
    }
    check_time(time, now)?;
    Ok(Digest::of(&message))
}

/// Windlass's own format: `t=<unix seconds>,v1=<hex>` over time and body.
fn verify_timestamped_hmac(
    delivery: UnverifiedDelivery<'_, '_>,
    signature: Option<&str>,
    secret: &WebhookSecret,
    now: Timestamp,
) -> Result<Digest, SignatureRefusal> {
    let signature = signature.ok_or(SignatureRefusal::Unsigned)?;
    let field =
        |name: &str| signature.split(',').find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='));
    let (Some(time), Some(tag)) = (field("t"), field("v1").and_then(unhex)) else {
        return Err(SignatureRefusal::Wrong);
    };
    let message = [time.as_bytes(), b".", delivery.body].concat();
    hmac::verify(&secret.text_key(), &message, &tag).map_err(|_| SignatureRefusal::Wrong)?;
    check_time(time, now)?;
    Ok(Digest::of(&message))
}

fn check_time(seconds: &str, now: Timestamp) -> Result<(), SignatureRefusal> {
    let seconds: i64 = seconds.parse().map_err(|_| SignatureRefusal::OutsideTimeWindow)?;
    let signed = Timestamp::from_millis(seconds.saturating_mul(1000));
    let distance = signed.elapsed_since(now).max(now.elapsed_since(signed));
    if distance > SIGNATURE_TIME_TOLERANCE { Err(SignatureRefusal::OutsideTimeWindow) } else { Ok(()) }
}
