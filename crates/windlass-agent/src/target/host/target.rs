//! A host, and what the agent can do with it.

use std::path::Path;
use std::sync::Arc;

use windlass_core::host::{HostState, NodeDocument};

use super::blob::BlobSource;
use super::error::HostError;
use super::machine::Machine;
use super::observe;
use super::packages::{Apt, Dnf, PackageManager, RecordedPackages};
use super::report::{ItemDrift, RunReport};
use super::run::{Effects, Run, Scope};
use super::services::{MachineServices, RecordedServices, ServiceManager, TimerSupport};
use super::state_file::StateDirectory;
use super::step_hook::StepHook;
use super::tree::HostTree;

/// The host that the agent works on: the machine itself, or a directory tree that stands for a machine.
///
/// In a directory tree no symbolic link leads outside of the tree, services are simulated, and packages are simulated
/// unless the tree has the package database of dpkg. If the agent is not root there, it leaves the owners of files as
/// they are.
pub struct HostTarget<'b> {
    machine: Machine<'b>,
}

impl<'b> HostTarget<'b> {
    /// The machine itself, with what runs its services: [`MachineServices::open`].
    pub fn machine(
        state_dir: &Path,
        blobs: &'b dyn BlobSource,
        services: MachineServices,
    ) -> Result<HostTarget<'b>, HostError> {
        let packages: Box<dyn PackageManager> = match Path::new("/usr/bin/dpkg-query").exists() {
            true => Box::new(Apt::on_machine()),
            false => Box::new(Dnf),
        };
        let tree = Arc::new(HostTree::open(Path::new("/"), StepHook::default())?);
        let state = StateDirectory::open(state_dir, StepHook::default())?;
        Ok(HostTarget { machine: Machine { tree, state, packages, services: Box::new(services), blobs } })
    }

    /// A directory tree that stands for a machine.
    pub fn tree(
        root: &Path,
        state_dir: &Path,
        blobs: &'b dyn BlobSource,
    ) -> Result<HostTarget<'b>, HostError> {
        HostTarget::tree_with_steps(root, state_dir, blobs, StepHook::default())
    }

    /// A directory tree, with a hook that tests use to stop the agent between any two effects.
    pub fn tree_with_steps(
        root: &Path,
        state_dir: &Path,
        blobs: &'b dyn BlobSource,
        steps: StepHook,
    ) -> Result<HostTarget<'b>, HostError> {
        let tree = Arc::new(HostTree::open(root, steps.clone())?);
        let packages: Box<dyn PackageManager> = match tree.metadata("/var/lib/dpkg/status")? {
            Some(_) => Box::new(Apt::in_tree(tree.path())),
            None => Box::new(RecordedPackages::new(tree.clone())),
        };
        let services = Box::new(RecordedServices::new(tree.clone(), TimerSupport::Systemd));
        let state = StateDirectory::open(state_dir, steps)?;
        Ok(HostTarget { machine: Machine { tree, state, packages, services, blobs } })
    }

    /// Uses another package manager.
    pub fn with_packages(mut self, packages: Box<dyn PackageManager + 'b>) -> HostTarget<'b> {
        self.machine.packages = packages;
        self
    }

    /// Uses another service manager.
    pub fn with_services(mut self, services: Box<dyn ServiceManager + 'b>) -> HostTarget<'b> {
        self.machine.services = services;
        self
    }

    /// What [`HostTarget::apply`] would do now. Items that another item of the same run makes possible may differ: a
    /// package can bring files with it.
    pub fn dry_run(
        &self,
        document: &NodeDocument,
        state: &HostState,
        scope: Scope,
    ) -> Result<RunReport, HostError> {
        Run::new(&self.machine, (document, state), scope, Effects::Pretend)?.execute()
    }

    /// Makes the state true. Items that left the state are removed. An item that fails stops its module and the modules
    /// that depend on it, and no others.
    pub fn apply(
        &self,
        document: &NodeDocument,
        state: &HostState,
        scope: Scope,
    ) -> Result<RunReport, HostError> {
        let _lock = self.machine.state.lock()?;
        Run::new(&self.machine, (document, state), scope, Effects::Perform)?.execute()
    }

    /// The items that differ from the host.
    pub fn observe(&self, document: &NodeDocument, state: &HostState) -> Vec<ItemDrift> {
        observe::observe(&self.machine, document, state)
    }

    /// Makes those items true whose module corrects drift, and leaves the others.
    pub fn correct(&self, document: &NodeDocument, state: &HostState) -> Result<RunReport, HostError> {
        let _lock = self.machine.state.lock()?;
        Run::new(&self.machine, (document, state), Scope::CorrectedItems, Effects::Perform)?.execute()
    }
}
