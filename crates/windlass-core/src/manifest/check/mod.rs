//! What can only be checked once all declarations are known.

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
