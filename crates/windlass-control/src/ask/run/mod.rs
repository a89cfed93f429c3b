//! Sync runs: asked for, shown, and failures that someone looked at.

pub mod confirm_failure;
pub mod request;
pub mod show;
