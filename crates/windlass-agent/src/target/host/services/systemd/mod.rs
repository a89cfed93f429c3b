//! Services of systemd, over D-Bus.
//!
//! Reading uses one connection that is kept. A job (start, stop, reload, restart) gets a connection of its own, because it
//! subscribes to signals: systemd says by a signal how the job ended.

mod bus;
mod failure;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bus::{Bus, BusError};

use super::service::{RunState, ServiceAction, ServiceManager, ServiceStatus, StartupState, TimerSupport};
use crate::target::host::error::HostError;

/// How long a job may take. Units have time limits of their own (90 s unless they say otherwise); this one is for jobs that wait
/// for other jobs.
const JOB_LIMIT: Duration = Duration::from_secs(5 * 60);

/// The types of units. A name without one of them is a service.
const UNIT_TYPES: &[&str] = &[
    ".automount",
    ".device",
    ".mount",
    ".path",
    ".scope",
    ".service",
    ".slice",
    ".socket",
    ".swap",
    ".target",
    ".timer",
];

/// systemd on the machine itself. The functions block, so asynchronous code must not call them directly.
#[derive(Debug, Default)]
pub struct Systemd {
    /// The connection that reads the state of units.
    reading: Mutex<Option<Bus>>,
}

impl Systemd {
    /// Whether systemd runs this machine. This is the test that `sd_booted(3)` documents.
    pub fn is_running() -> bool {
        std::path::Path::new("/run/systemd/system").is_dir()
    }

    /// Reads something over the kept connection. A connection that systemd or the bus closed is made again once.
    fn read<T>(&self, read: impl Fn(&Bus) -> Result<T, BusError>) -> Result<T, BusError> {
        let mut kept = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bus) = kept.take() {
            match read(&bus) {
                Err(BusError::Connection(_)) => {}
                result => {
                    *kept = Some(bus);
                    return result;
                }
            }
        }
        let bus = Bus::connect()?;
        let result = read(&bus);
        *kept = Some(bus);
        result
    }

    /// Starts a job and waits for its end.
    fn run_job(&self, unit: &str, method: &'static str) -> Result<(), HostError> {
        let failed = |problem: String| failure::of(unit, method, problem);
        let bus = Bus::connect().map_err(|error| failed(error.to_string()))?;
        match bus.run_job(unit, method, JOB_LIMIT).map_err(|error| failed(error.to_string()))?.as_str() {
            "done" => Ok(()),
            // A condition of the unit is not met, so systemd did not start it.
            "skipped" => Err(failed("a condition of the unit is not met".to_owned())),
            "timeout" => {
                Err(failed(bus.with_details(unit, "it did not answer within the time limit of the unit")))
            }
            "dependency" => Err(failed("a unit that it needs failed".to_owned())),
            "canceled" => Err(failed("another job replaced this one".to_owned())),
            other => Err(failed(bus.with_details(unit, &format!("the job ended with `{other}`")))),
        }
    }
}

impl ServiceManager for Systemd {
    fn status(&self, unit: &str) -> Result<ServiceStatus, HostError> {
        let unit = unit_name(unit);
        let found = self
            .read(|bus| bus.unit(&unit))
            .map_err(|error| HostError::ServiceUnknown { unit: unit.clone(), problem: error.to_string() })?;
        Ok(ServiceStatus {
            run: run_state(&found.active, &found.sub),
            startup: startup_state(found.file.as_deref()),
        })
    }

    fn perform(&self, unit: &str, action: ServiceAction) -> Result<(), HostError> {
        let unit = unit_name(unit);
        let failed = |word: &'static str| {
            move |unit: &str, error: BusError| failure::of(unit, word, error.to_string())
        };
        match action {
            ServiceAction::Start => self.run_job(&unit, "StartUnit"),
            ServiceAction::Stop => self.run_job(&unit, "StopUnit"),
            ServiceAction::Restart => self.run_job(&unit, "RestartUnit"),
            // A service without a reload command is restarted.
            ServiceAction::Reload => self.run_job(&unit, "ReloadOrRestartUnit"),
            ServiceAction::Enable => {
                self.read(|bus| bus.enable(&unit)).map_err(|error| failed("EnableUnitFiles")(&unit, error))
            }
            ServiceAction::Disable => {
                self.read(|bus| bus.disable(&unit)).map_err(|error| failed("DisableUnitFiles")(&unit, error))
            }
        }
    }

    fn reload_definitions(&self) -> Result<(), HostError> {
        let failed = |error: BusError| HostError::ServiceManager(error.to_string());
        self.read(Bus::reload).map_err(failed)
    }

    fn timer_support(&self) -> TimerSupport {
        TimerSupport::Systemd
    }
}

/// The full name of a unit: a name without a type is a service.
fn unit_name(name: &str) -> String {
    match UNIT_TYPES.iter().any(|unit_type| name.ends_with(unit_type)) {
        true => name.to_owned(),
        false => format!("{name}.service"),
    }
}

fn run_state(active: &str, sub: &str) -> RunState {
    match (active, sub) {
        // The service has ended, and systemd waits before it starts it again.
        ("activating", "auto-restart" | "auto-restart-queued") => RunState::Stopped,
        ("active" | "activating" | "reloading" | "refreshing", _) => RunState::Running,
        _ => RunState::Stopped,
    }
}

fn startup_state(file: Option<&str>) -> StartupState {
    match file.unwrap_or_default() {
        "enabled" => StartupState::Enabled,
        "masked" | "masked-runtime" => StartupState::Masked,
        "static" | "indirect" | "generated" | "transient" | "alias" => StartupState::Fixed,
        // `enabled-runtime` is gone after the next boot.
        _ => StartupState::Disabled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_a_type_are_services() {
        for (name, unit) in [
            ("nginx", "nginx.service"),
            ("nginx.service", "nginx.service"),
            ("a.b", "a.b.service"),
            ("windlass-x.timer", "windlass-x.timer"),
            ("getty@tty1", "getty@tty1.service"),
        ] {
            assert_eq!(unit_name(name), unit);
        }
    }

    #[test]
    fn a_service_that_fails_again_and_again_does_not_run() {
        assert_eq!(run_state("activating", "auto-restart"), RunState::Stopped);
        assert_eq!(run_state("activating", "start"), RunState::Running);
        assert_eq!(run_state("active", "running"), RunState::Running);
        assert_eq!(run_state("failed", "failed"), RunState::Stopped);
    }

    #[test]
    fn the_state_of_a_unit_file_says_whether_the_unit_starts_with_the_host() {
        for (file, startup) in [
            (Some("enabled"), StartupState::Enabled),
            (Some("enabled-runtime"), StartupState::Disabled),
            (Some("static"), StartupState::Fixed),
            (Some("masked"), StartupState::Masked),
            (None, StartupState::Disabled),
        ] {
            assert_eq!(startup_state(file), startup);
        }
    }
}
