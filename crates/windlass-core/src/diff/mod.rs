//! Desired × accepted → changes.
//!
//! The only place that decides what differs and who may change it. It knows nothing of order or approval. Digests
//! decide whether two specs differ, so comparing costs nothing for what stayed the same.

mod compare;
mod document;
mod fields;

pub use compare::{Action, Cause, Change, Comparison, compare};
pub use document::{document, short_document};
pub use fields::{FieldChange, hide_secrets, mask_secrets};
