//! Checks that need all declarations.

mod clusters;
mod networks;
mod pins;
mod references;
mod templates;

pub(super) use clusters::cluster_groups;
pub(super) use networks::networks;
pub(super) use pins::pins;
pub(super) use references::references;
pub(super) use templates::templates;
