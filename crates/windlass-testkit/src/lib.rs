//! Fleets made up for tests and benchmarks, a world in which plans are only pretended to be applied, and real servers.

pub mod apply_plan;
pub mod fleet;
mod flow;
mod form;
pub mod model;
pub mod process;
pub mod servers;
mod write;
