//! Service managers: which services run and start with the host, and changing that.

mod machine;
mod recorded;
mod service;
mod supervisor;
mod systemd;

pub use machine::{MachineServices, ServiceManagerKind};
pub use recorded::{RecordedService, RecordedServices};
pub use service::{RunState, ServiceAction, ServiceManager, ServiceStatus, StartupState, TimerSupport};
pub use supervisor::Supervisor;
pub use systemd::Systemd;
