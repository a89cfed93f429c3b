//! What the agent applies a state to. There is one target: the host.

pub mod host;
