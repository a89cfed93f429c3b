//! The names under which spans are traced.

/// The target of what is sent. It is no module: no filter for logs names it by accident.
pub const SPANS: &str = "windlass_spans";
