//! The words for a failed operation of systemd.

use crate::target::host::error::HostError;

/// The error of a method that failed for a unit.
pub(super) fn of(unit: &str, method: &str, problem: String) -> HostError {
    let action = match method {
        "StartUnit" => "start",
        "StopUnit" => "stop",
        "RestartUnit" => "restart",
        "ReloadOrRestartUnit" => "reload",
        "EnableUnitFiles" => "enable",
        _ => "disable",
    };
    HostError::ServiceFailed { action, unit: unit.to_owned(), problem }
}
