//! Nodes: what they shall be, and what they are as their agents see them: status and its reason, roll-ups, drift and the
//! ways to resolve it.

pub mod adopt;
pub mod detail;
pub mod drift;
pub mod log;
pub mod observe;
pub mod records;
pub mod render;
pub mod resolve;
pub mod status;
pub mod summary;
