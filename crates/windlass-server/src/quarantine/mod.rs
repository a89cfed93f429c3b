//! Work that may kill the server: whatever fetches or reads what others made. It is counted before it begins, done alone
//! once a server died of it, and not at all after the second time.
//!
//! What decides is [`windlass_core::quarantine`]. [`company`] says who works beside whom in this process, [`counted`] counts
//! beginnings and ends, and [`requested`] does what people ask for.

mod company;
mod counted;
mod requested;

pub(crate) use company::{Company, Leave};
pub(crate) use counted::{Begin, CountedWork, HeldWork, begin, hold, refusal};
pub(crate) use requested::{Requested, requested, to_the_end, wait_for_lease};

/// The code of everything that is not done because of a quarantine.
pub(crate) const QUARANTINED: &str = "quarantined";
