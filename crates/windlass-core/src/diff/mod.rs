//! Desired × accepted → changes.
//!
//! Decides what a plan changes. It knows nothing of order or approval; whether a repository may change what it names is
//! for `conflict` to say, and what differs while nobody plans is for `drift`, by the same digests. Digests decide whether
//! two specs differ, so comparing costs nothing for what stayed the same.

mod compare;
mod document;
mod fields;

pub use compare::{Action, Cause, Change, Comparison, compare};
pub use document::{diff_document, nonempty_diff_document};
pub use fields::{FieldChange, hide_secrets, mask_secrets};
