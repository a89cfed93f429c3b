//! How long a request may take.

/// The timeout of a request. Longer than the longest `wait`.
pub(crate) const REQUEST_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(75);
