//! The arguments, calls and replies of each tool: one file per noun.

pub(crate) mod credentials;
pub(crate) mod drift;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod forges;
pub(crate) mod modules;
pub(crate) mod nodes;
pub(crate) mod proposals;
pub(crate) mod repositories;
pub(crate) mod resources;
pub(crate) mod rollouts;
pub(crate) mod runs;
