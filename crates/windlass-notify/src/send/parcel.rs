//! What is sent, and whether it may be sent in the clear.

use windlass_core::time::Timestamp;

use crate::render::Payload;

/// Whether receivers may be spoken to without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaintextPolicy {
    /// No.
    Refused,
    /// Yes, but only on this machine.
    OnThisMachine,
}

/// What is sent, and the id that stays the same over all attempts.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingMessage<'p> {
    /// The message as its receiver reads it.
    pub payload: &'p Payload,
    /// The id.
    pub delivery: &'p str,
    /// The kind of event, for the receiver's routing.
    pub kind: &'p str,
    /// When it is sent.
    pub now: Timestamp,
}
