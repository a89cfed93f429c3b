//! Services: whether they run, and whether they start with the host. The run reloads and restarts them.

use serde::{Deserialize, Serialize};
use windlass_core::host::HostItem;
use windlass_core::resource::{HostService, ServiceState};
use windlass_core::value::UnitName;

use crate::target::host::error::HostError;
use crate::target::host::item_type::ItemType;
use crate::target::host::machine::Machine;
use crate::target::host::services::{RunState, ServiceAction, ServiceStatus, StartupState};
use windlass_core::host::{FieldDifference, push_value};

/// Services.
pub(crate) struct ServiceType;

/// Whether a service runs and starts with the host: desired, or before the agent's first change.
#[derive(Serialize, Deserialize)]
pub(crate) struct ServiceSettings {
    running: bool,
    enabled: bool,
}

impl ItemType for ServiceType {
    const NAME: &'static str = "service";
    const ID_KIND: &'static str = "service";
    type Desired<'i> = (&'i UnitName, &'i HostService);
    type Previous = ServiceSettings;

    fn of(item: &HostItem) -> Option<Self::Desired<'_>> {
        match item {
            HostItem::Service(name, service) => Some((name, service)),
            _ => None,
        }
    }

    fn differences(
        machine: &Machine<'_>,
        (name, service): Self::Desired<'_>,
    ) -> Result<Vec<FieldDifference>, HostError> {
        let status = machine.services.status(name.as_str())?;
        Ok(state_differences(status, desired_of(service)))
    }

    fn remember(machine: &Machine<'_>, (name, _): Self::Desired<'_>) -> Result<ServiceSettings, HostError> {
        let status = machine.services.status(name.as_str())?;
        let enabled = status.startup == StartupState::Enabled;
        Ok(ServiceSettings { running: status.run == RunState::Running, enabled })
    }

    fn apply(machine: &Machine<'_>, (name, service): Self::Desired<'_>) -> Result<(), HostError> {
        set_state(machine, name.as_str(), &desired_of(service))
    }

    fn removal_differences(
        machine: &Machine<'_>,
        name: &str,
        previous: &ServiceSettings,
    ) -> Result<Vec<FieldDifference>, HostError> {
        Ok(state_differences(machine.services.status(name)?, ServiceSettings { ..*previous }))
    }

    fn remove(machine: &Machine<'_>, name: &str, previous: &ServiceSettings) -> Result<(), HostError> {
        set_state(machine, name, previous)
    }
}

fn desired_of(service: &HostService) -> ServiceSettings {
    ServiceSettings { running: service.state == ServiceState::Running, enabled: service.enabled }
}

fn state_differences(status: ServiceStatus, wanted: ServiceSettings) -> Vec<FieldDifference> {
    let mut differences = Vec::new();
    let run = |running: bool| Some(if running { "running" } else { "stopped" });
    push_value(&mut differences, "state", run(status.run == RunState::Running), run(wanted.running));
    let enabled = |enabled: bool| Some(if enabled { "true" } else { "false" });
    match status.startup {
        StartupState::Fixed => {}
        StartupState::Masked if wanted.enabled => {
            push_value(&mut differences, "enabled", Some("masked"), enabled(true));
        }
        // A masked service does not start with the host.
        StartupState::Masked => {}
        startup => {
            let observed = enabled(startup == StartupState::Enabled);
            push_value(&mut differences, "enabled", observed, enabled(wanted.enabled));
        }
    }
    differences
}

fn set_state(machine: &Machine<'_>, name: &str, wanted: &ServiceSettings) -> Result<(), HostError> {
    let status = machine.services.status(name)?;
    if status.startup == StartupState::Masked && (wanted.running || wanted.enabled) {
        return Err(HostError::ServiceMasked { unit: name.to_owned() });
    }
    match (status.startup, wanted.enabled) {
        (StartupState::Disabled, true) => machine.perform(name, ServiceAction::Enable)?,
        (StartupState::Enabled, false) => machine.perform(name, ServiceAction::Disable)?,
        _ => {}
    }
    match (status.run, wanted.running) {
        (RunState::Stopped, true) => machine.perform(name, ServiceAction::Start),
        (RunState::Running, false) => machine.perform(name, ServiceAction::Stop),
        _ => Ok(()),
    }
}
