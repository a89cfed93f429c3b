//! Limits on resource use: permits, bodies of requests, isolation of suspected work, and rates.

pub mod body_budget;
pub mod bounded_cache;
pub mod fair_permits;
pub mod isolation;
pub mod rate_limit;
