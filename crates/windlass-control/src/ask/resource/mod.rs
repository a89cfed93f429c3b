//! Accepted resources: looked at, and changed directly.

pub mod change;
pub mod direct;
pub mod list;
