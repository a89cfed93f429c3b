//! What a webhook says, believed only after its signature was checked. Pure: headers and bytes in, their meaning out.
//!
//! [`verify`] comes first and looks at nothing but headers and the raw body; only the [`Delivery`] it gives can be read
//! ([`Delivery::meaning`]), so that nothing is parsed that nobody signed. What a delivery means is at most a hint where to
//! look: no address, commit or branch of a payload is ever fetched because a payload says so.

mod meaning;
mod pusher;
mod secret;
mod sender;
mod verify;

pub use meaning::{Meaning, Origin, PullRequest, PullRequestAction};
pub use pusher::Pusher;
pub use secret::Secret;
pub use sender::Sender;
pub use verify::{Delivery, Incoming, Refusal, WINDOW, verify};

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;
