//! The accepted state of an account and who has what, loaded as far as a decision needs it.

pub mod accepted;
pub mod around;
pub mod declarations;
pub mod holdings;
pub mod names;
