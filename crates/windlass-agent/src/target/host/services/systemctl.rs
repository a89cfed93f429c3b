//! Services of systemd, through the command `systemctl`.

use super::{RunState, ServiceAction, ServiceManager, ServiceStatus, StartupState, TimerSupport};
use crate::target::host::command;
use crate::target::host::error::HostError;

/// The command `systemctl`, on the machine itself.
#[derive(Debug, Default)]
pub struct Systemctl;

impl ServiceManager for Systemctl {
    fn status(&self, unit: &str) -> Result<ServiceStatus, HostError> {
        let shown = command::run_checked(&["systemctl", "show", "-p", "ActiveState,UnitFileState", unit])?;
        Ok(read_status(&shown))
    }

    fn perform(&self, unit: &str, action: ServiceAction) -> Result<(), HostError> {
        let verb = match action {
            ServiceAction::Start => "start",
            ServiceAction::Stop => "stop",
            ServiceAction::Enable => "enable",
            ServiceAction::Disable => "disable",
            // A service without a reload command is restarted.
            ServiceAction::Reload => "reload-or-restart",
            ServiceAction::Restart => "restart",
        };
        command::run_checked(&["systemctl", verb, unit]).map(drop)
    }

    fn reload_definitions(&self) -> Result<(), HostError> {
        command::run_checked(&["systemctl", "daemon-reload"]).map(drop)
    }

    fn timer_support(&self) -> TimerSupport {
        TimerSupport::Systemd
    }
}

fn read_status(shown: &str) -> ServiceStatus {
    let property = |name: &str| {
        let value = shown.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or_default()
    };
    let run = match property("ActiveState") {
        "active" | "activating" | "reloading" | "refreshing" => RunState::Running,
        _ => RunState::Stopped,
    };
    let startup = match property("UnitFileState") {
        "enabled" | "enabled-runtime" | "alias" => StartupState::Enabled,
        "static" | "indirect" | "generated" | "transient" => StartupState::Fixed,
        _ => StartupState::Disabled,
    };
    ServiceStatus { run, startup }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_properties_of_a_unit_become_its_status() {
        for (shown, run, startup) in [
            ("ActiveState=active\nUnitFileState=enabled\n", RunState::Running, StartupState::Enabled),
            ("UnitFileState=static\nActiveState=failed\n", RunState::Stopped, StartupState::Fixed),
            ("ActiveState=inactive\nUnitFileState=\n", RunState::Stopped, StartupState::Disabled),
        ] {
            assert_eq!(read_status(shown), ServiceStatus { run, startup });
        }
    }
}
