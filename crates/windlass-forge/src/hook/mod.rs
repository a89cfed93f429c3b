//! Verifies and parses webhook deliveries. Pure: headers and bytes in, content out.
//!
//! [`verify`] reads only the headers and the raw body. Only the [`VerifiedDelivery`] that it returns can be parsed, so
//! no unsigned body is parsed. The content of a delivery is only a hint which repository to sync: Windlass fetches no
//! address, commit or branch because a payload names it.

mod content;
mod pusher;
mod secret;
mod sender;
mod verify;

pub use content::{CommitOrigin, DeliveryContent, PullRequest, PullRequestAction};
pub use pusher::Pusher;
pub use secret::WebhookSecret;
pub use sender::WebhookSender;
pub use verify::{SIGNATURE_TIME_TOLERANCE, SignatureRefusal, UnverifiedDelivery, VerifiedDelivery, verify};

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;
