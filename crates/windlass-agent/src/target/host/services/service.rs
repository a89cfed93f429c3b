//! What can be asked of a service, and of what runs it.

use crate::target::host::error::HostError;

/// Whether a service runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It runs, or is starting.
    Running,
    /// It does not run, failed, or is unknown to the host.
    Stopped,
}

/// Whether a service starts with the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartupState {
    /// It does.
    Enabled,
    /// It does not.
    Disabled,
    /// The unit can be neither enabled nor disabled: other units start it.
    Fixed,
    /// Someone on the host has made sure that nothing can start it.
    Masked,
}

/// The state of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceStatus {
    /// Whether it runs.
    pub run: RunState,
    /// Whether it starts with the host.
    pub startup: StartupState,
}

/// What can be done with a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceAction {
    /// Start it now.
    Start,
    /// Stop it now.
    Stop,
    /// Start it with the host.
    Enable,
    /// Do not start it with the host.
    Disable,
    /// Let it read its configuration again.
    Reload,
    /// Stop and start it.
    Restart,
}

/// How the host runs commands on a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerSupport {
    /// Timer units of systemd.
    Systemd,
    /// Files in `/etc/cron.d`.
    Cron,
}

/// Starts and stops services.
pub trait ServiceManager {
    /// The state of a service. A service that the host does not know is stopped and disabled.
    fn status(&self, unit: &str) -> Result<ServiceStatus, HostError>;
    /// Does something with a service.
    fn perform(&self, unit: &str, action: ServiceAction) -> Result<(), HostError>;
    /// Reads the unit files again, after one of them changed.
    fn reload_definitions(&self) -> Result<(), HostError>;
    /// How the host runs commands on a schedule.
    fn timer_support(&self) -> TimerSupport;
}
