//! Everything that the item types need of the host: its tree, its packages, its services, and the saved contents.

use std::sync::Arc;

use super::accounts;
use super::blob::BlobSource;
use super::error::HostError;
use super::packages::PackageManager;
use super::services::{ServiceAction, ServiceManager};
use super::state_file::StateDirectory;
use super::tree::{Attributes, HostTree, Ownership};

/// The host as the item types see it.
pub(crate) struct Machine<'b> {
    pub(crate) tree: Arc<HostTree>,
    pub(crate) state: StateDirectory,
    pub(crate) packages: Box<dyn PackageManager + 'b>,
    pub(crate) services: Box<dyn ServiceManager + 'b>,
    pub(crate) blobs: &'b dyn BlobSource,
}

impl Machine<'_> {
    /// The attributes of a file with this mode and these owners.
    pub(crate) fn attributes(&self, mode: u32, owner: &str, group: &str) -> Result<Attributes, HostError> {
        if self.tree.ownership == Ownership::Ignored {
            return Ok(Attributes { mode, uid: 0, gid: 0, label: None });
        }
        let unknown = |what, name: &str| HostError::UnknownAccount { what, name: name.to_owned() };
        let uid = accounts::uid(&self.tree, owner)?.ok_or_else(|| unknown("user", owner))?;
        let gid = accounts::gid(&self.tree, group)?.ok_or_else(|| unknown("group", group))?;
        Ok(Attributes { mode, uid, gid, label: None })
    }

    /// Does something with a service.
    pub(crate) fn perform(&self, unit: &str, action: ServiceAction) -> Result<(), HostError> {
        self.effect("changing a service", || self.services.perform(unit, action))
    }

    /// Calls the hook of tests before and after an effect.
    pub(crate) fn effect<T>(
        &self,
        name: &str,
        effect: impl FnOnce() -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        self.tree.steps.reached(&format!("before {name}"));
        let result = effect()?;
        self.tree.steps.reached(&format!("after {name}"));
        Ok(result)
    }
}
