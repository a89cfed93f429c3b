//! The use cases of agents: each reads and writes what belongs to its own target, and nothing else.

pub mod assignment;
pub mod blob;
pub mod delivery;
pub mod report;
pub mod stream;

#[cfg(test)]
mod tests;
