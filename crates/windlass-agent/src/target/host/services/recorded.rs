//! A simulation of a service manager, for demos and tests: it starts nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::service::{RunState, ServiceAction, ServiceManager, ServiceStatus, StartupState, TimerSupport};
use crate::target::host::error::HostError;
use crate::target::host::recorded_file;
use crate::target::host::tree::HostTree;

/// The file below the root.
const RECORD: &str = "/var/lib/windlass/recorded-services.json";

/// Simulates a service manager in a directory tree. It writes the state that services would have to
/// `var/lib/windlass/recorded-services.json`, counts reloads and restarts there, and starts nothing.
#[derive(Debug)]
pub struct RecordedServices {
    tree: Arc<HostTree>,
    timers: TimerSupport,
}

/// A simulated service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedService {
    /// Whether it would run.
    pub running: bool,
    /// Whether it would start with the host.
    pub enabled: bool,
    /// How often it was reloaded.
    #[serde(default)]
    pub reloads: u64,
    /// How often it was restarted.
    #[serde(default)]
    pub restarts: u64,
}

impl RecordedServices {
    pub(crate) fn new(tree: Arc<HostTree>, timers: TimerSupport) -> RecordedServices {
        RecordedServices { tree, timers }
    }

    fn read(&self) -> Result<BTreeMap<String, RecordedService>, HostError> {
        recorded_file::read(&self.tree, RECORD)
    }
}

impl ServiceManager for RecordedServices {
    fn status(&self, unit: &str) -> Result<ServiceStatus, HostError> {
        let service = self.read()?.remove(unit).unwrap_or_default();
        let run = if service.running { RunState::Running } else { RunState::Stopped };
        let startup = if service.enabled { StartupState::Enabled } else { StartupState::Disabled };
        Ok(ServiceStatus { run, startup })
    }

    fn perform(&self, unit: &str, action: ServiceAction) -> Result<(), HostError> {
        let mut services = self.read()?;
        let service = services.entry(unit.to_owned()).or_default();
        match action {
            ServiceAction::Start => service.running = true,
            ServiceAction::Stop => service.running = false,
            ServiceAction::Enable => service.enabled = true,
            ServiceAction::Disable => service.enabled = false,
            ServiceAction::Reload => service.reloads += 1,
            ServiceAction::Restart => service.restarts += 1,
        }
        recorded_file::write(&self.tree, RECORD, &services)
    }

    fn reload_definitions(&self) -> Result<(), HostError> {
        Ok(())
    }

    fn timer_support(&self) -> TimerSupport {
        self.timers
    }
}
