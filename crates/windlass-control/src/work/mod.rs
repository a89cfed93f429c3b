//! Work that may crash the server. Each attempt is counted, so that the server does not crash on the same work repeatedly.

pub mod error;
pub mod on_demand;
pub mod tracked;
