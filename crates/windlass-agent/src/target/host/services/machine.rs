//! The services of the machine that the agent runs on.

use std::path::Path;
use std::sync::Arc;

use super::service::{ServiceAction, ServiceManager, ServiceStatus, TimerSupport};
use super::supervisor::Supervisor;
use super::systemd::Systemd;
use crate::target::host::error::HostError;
use crate::target::host::step_hook::StepHook;
use crate::target::host::tree::HostTree;

/// What runs the services of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceManagerKind {
    /// systemd, over D-Bus.
    Systemd,
    /// The agent itself, in containers and on machines without systemd.
    Supervisor,
}

impl ServiceManagerKind {
    /// What runs the services of this machine.
    pub fn detect() -> ServiceManagerKind {
        match Systemd::is_running() {
            true => ServiceManagerKind::Systemd,
            false => ServiceManagerKind::Supervisor,
        }
    }
}

/// What runs the services of the machine. Copies share one: a supervisor watches the services for as long as a copy of it
/// exists, so a running agent keeps one.
#[derive(Clone)]
pub struct MachineServices(Arc<dyn ServiceManager + Send + Sync>);

impl MachineServices {
    /// Connects to the service manager. A supervisor keeps its records in the agent's state directory.
    pub fn open(kind: ServiceManagerKind, state_dir: &Path) -> Result<MachineServices, HostError> {
        Ok(MachineServices(match kind {
            ServiceManagerKind::Systemd => Arc::new(Systemd::default()),
            ServiceManagerKind::Supervisor => {
                let tree = Arc::new(HostTree::open(Path::new("/"), StepHook::default())?);
                Arc::new(Supervisor::open(tree, &state_dir.join("services"))?)
            }
        }))
    }
}

impl ServiceManager for MachineServices {
    fn status(&self, unit: &str) -> Result<ServiceStatus, HostError> {
        self.0.status(unit)
    }

    fn perform(&self, unit: &str, action: ServiceAction) -> Result<(), HostError> {
        self.0.perform(unit, action)
    }

    fn reload_definitions(&self) -> Result<(), HostError> {
        self.0.reload_definitions()
    }

    fn timer_support(&self) -> TimerSupport {
        self.0.timer_support()
    }
}
