//! What a webhook says, believed only after its signature was checked. Pure: headers and bytes in, their meaning out.
//!
//! [`verify`] comes first and looks at nothing but headers and the raw body; only the [`VerifiedDelivery`] it gives can be
//! read (`VerifiedDelivery`), so that nothing is parsed that nobody signed. What a delivery means is at most a
//! hint where to look: no address, commit or branch of a payload is ever fetched because a payload says so.

mod content;
mod pusher;
mod secret;
mod sender;
mod verify;

pub use content::{CommitOrigin, DeliveryContent, PullRequest, PullRequestAction};
pub use pusher::Pusher;
pub use secret::WebhookSecret;
pub use sender::WebhookSender;
pub use verify::{SignatureRefusal, UnverifiedDelivery, VerifiedDelivery, WINDOW, verify};

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;
