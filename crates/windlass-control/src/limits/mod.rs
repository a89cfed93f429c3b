//! What anyone may cost: turns, bodies, and work beside other work.

pub mod body_budget;
pub mod fair_permits;
pub mod isolation;
pub mod rate_limit;
