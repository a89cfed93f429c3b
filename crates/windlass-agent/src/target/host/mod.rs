//! The host target: makes the items of a [`HostState`] true on a machine, or in a directory tree that stands for one.
//!
//! ```text
//! HostState ─plan→ steps ─run→ for each item: differences → inventory on disk → apply → inventory on disk → RunReport
//! ```
//!
//! Three things are kept apart: the state says what should be, the host says what is, and the inventory in the state
//! directory says what the agent has made and what was there before. Every change can be interrupted at any point; the
//! next run finishes it. Each type of item is one file in `types`.
//!
//! This module does not fetch anything, and it does not decide whether a state may be applied.

mod account_command;
mod accounts;
mod blob;
mod command;
mod error;
mod inventory;
mod item_type;
mod machine;
mod module_failures;
mod observe;
mod owner;
mod package_batch;
mod packages;
mod plan;
mod previous;
mod recorded_file;
mod report;
mod run;
mod run_cleaning;
mod run_notifications;
mod run_packages;
mod services;
mod state_file;
mod step_hook;
mod target;
mod tree;
mod types;

pub use blob::BlobSource;
pub use error::HostError;
pub use packages::{Apt, Dnf, PackageManager, RecordedPackages};
pub use report::{ChangeKind, ItemDrift, ItemOutcome, ItemReport, RunReport};
pub use run::Scope;
pub use services::{
    MachineServices, RecordedService, RecordedServices, RunState, ServiceAction, ServiceManager,
    ServiceManagerKind, ServiceStatus, StartupState, Supervisor, Systemd, TimerSupport,
};
pub use step_hook::StepHook;
pub use target::HostTarget;
pub use windlass_core::host::FieldDifference;

#[cfg(doc)]
use windlass_core::host::HostState;

#[cfg(test)]
mod tests;
