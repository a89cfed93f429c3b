//! Applying: approved proposals × what exists × what the gate says now → what becomes of each.
//!
//! Whoever applies loads a [`ApplyContext`] once, asks it about one proposal after the other in the order of their plan,
//! and does what it says in one transaction.

mod gatekeeper;
#[cfg(test)]
mod tests;
mod verdict;
mod versions;
mod world;

pub use gatekeeper::{
    Gatekeeper, KnownHost, PossibleChange, check_review, failed_sync_of, governing_repository,
};
pub use verdict::{ApplyContext, Verdict};
pub use versions::{described_version, versions_made};
pub use world::{AcceptedFacts, AccountState, ModuleFacts};
