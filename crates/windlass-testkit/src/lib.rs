//! Fleets made up for tests and benchmarks, and a world in which plans are only pretended to be applied.

pub mod fleet;
pub mod model;
pub mod pretend;
mod write;
