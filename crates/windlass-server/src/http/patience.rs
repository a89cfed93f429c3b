//! How long a request may take.

/// Longer than the longest `wait`.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(75);
