//! Opening proposals, and what keeps them from being applied.

pub mod blocked;
pub mod offer;
pub mod open_next;
