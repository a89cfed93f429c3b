//! Support for tests and benchmarks: generated fleets, applying plans in memory, and real servers.

pub mod apply_plan;
pub mod fleet;
mod flow;
mod form;
pub mod model;
pub mod process;
pub mod servers;
mod write;
