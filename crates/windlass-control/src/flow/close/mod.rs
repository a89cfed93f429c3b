//! Ending proposals, and runs with them.

pub mod ending;
pub mod settle;
