//! What the agent tells its server: what it sees ([`view`]), what happened, and which part of it the server has yet to hear
//! ([`outbox`]).
//!
//! Everything here is a value; the cycle keeps it on the disk and sends it.

mod budget;
mod facts;
mod outbox;
mod sent;
mod view;

pub(crate) use facts::host_facts;
pub(crate) use outbox::{Outbox, ReportOccasion};
pub(crate) use view::{ApplyFailures, LookResult};

#[cfg(test)]
mod outbox_tests;
#[cfg(test)]
mod view_tests;
