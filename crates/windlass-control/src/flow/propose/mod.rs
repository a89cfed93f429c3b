//! Opening proposals, and what keeps them from being applied.

pub mod blocked;
pub mod open_next;
pub mod open_proposals;
