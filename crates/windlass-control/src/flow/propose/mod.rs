//! Opens proposals, and stores what blocks them.

pub mod blocked;
pub mod open_next;
pub mod open_proposals;
