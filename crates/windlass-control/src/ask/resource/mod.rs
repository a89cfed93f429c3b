//! Accepted resources: listing, showing and direct changes.

pub mod change;
pub mod direct;
pub mod list;
