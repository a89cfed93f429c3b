//! Proposals, and decisions about them.

pub mod approve;
pub mod batch;
pub mod content;
pub mod decision;
pub mod edit;
pub mod effects;
pub mod info;
pub mod list;
pub mod reject;
pub mod wait;
