//! Closes proposals and updates their runs.

pub mod close_proposal;
pub mod update_runs;
