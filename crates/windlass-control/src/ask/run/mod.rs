//! Sync runs: requesting and showing them, and confirming failures.

pub mod confirm_failure;
pub mod request;
pub mod show;
