//! A message that is ready to be sent, and whether it may be sent without TLS.

use windlass_core::time::Timestamp;

use crate::render::Payload;

/// Whether messages may be sent without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaintextPolicy {
    /// Never.
    Refused,
    /// Only to receivers on this machine.
    OnThisMachine,
}

/// A rendered message with its delivery id.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingMessage<'p> {
    /// The rendered message.
    pub payload: &'p Payload,
    /// The id of the delivery, the same for all attempts.
    pub delivery: &'p str,
    /// The kind of event, for the receiver's routing.
    pub kind: &'p str,
    /// The time of sending.
    pub now: Timestamp,
}
