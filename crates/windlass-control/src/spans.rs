//! The target of traced spans.

/// The target of the spans that the server exports. It is not a module path, so no log filter matches it by accident.
pub const SPANS: &str = "windlass_spans";
