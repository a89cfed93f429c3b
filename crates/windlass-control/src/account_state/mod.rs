//! The accepted state of an account and who holds which names and addresses, loaded as far as a decision needs it.

pub mod accepted;
pub mod contact;
pub mod declaration_source;
pub mod holdings;
pub mod load;
pub mod modules;
pub mod names;
