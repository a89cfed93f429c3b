//! Reports of agents that wait to be stored: each is checked when it arrives, and queued. `flow/observe` stores them.

pub mod agent_event;
pub mod check;
pub mod queue;
