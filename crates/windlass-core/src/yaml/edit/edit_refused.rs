//! Why a text cannot be edited in place.

/// Why a text cannot be edited in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EditRefused(pub(super) &'static str);
