//! Ending proposals, and runs with them.

pub mod close_proposal;
pub mod update_runs;
