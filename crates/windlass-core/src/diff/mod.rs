//! Compares desired with accepted state and returns the changes.
//!
//! This module knows nothing of order or approval. `conflict` decides whether a repository may change a resource, and
//! `drift` compares between plans, with the same digests. Specs are compared by digest, so that unchanged resources
//! cost nothing.

mod compare;
mod document;
mod fields;

pub use compare::{Action, Cause, Change, Comparison, compare};
pub use document::{diff_document, nonempty_diff_document};
pub(crate) use fields::field_changes;
pub use fields::{FieldChange, hide_secrets, mask_secrets};
