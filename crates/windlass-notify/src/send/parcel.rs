//! What is sent, and whether it may be sent in the clear.

use windlass_core::time::Timestamp;

use crate::render::Payload;

/// Whether receivers may be spoken to without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// No.
    Refused,
    /// Yes, but only on this machine.
    OnThisMachine,
}

/// What is sent, and the id that stays the same over all attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel<'p> {
    pub(crate) payload: &'p Payload,
    pub(crate) delivery: &'p str,
    pub(crate) kind: &'p str,
    pub(crate) now: Timestamp,
}
