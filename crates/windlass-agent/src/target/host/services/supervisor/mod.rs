//! Services on hosts without systemd: the agent starts them itself, and starts them again when they end.
//!
//! A service is described by its unit file, of which the supervisor understands the part in [`unit_file`], or by a script in
//! `/etc/init.d`. What runs is written to files, so that an agent that starts again goes on with the processes that are there.
//! A thread watches the processes; see [`watch`].

mod command_line;
mod definition;
mod launch;
mod process;
mod record;
mod services;
mod unit_file;
mod watch;

use std::path::Path;
use std::sync::Arc;

use definition::{ServiceSource, find};
use process::boot_id;
use record::{RecordDirectory, Running};
use services::{Services, script_runs};
use watch::Watcher;

use super::service::{RunState, ServiceAction, ServiceManager, ServiceStatus, StartupState, TimerSupport};
use crate::target::host::error::HostError;
use crate::target::host::tree::HostTree;

/// Runs services on a host without systemd. It watches them for as long as it exists; the services go on without it.
#[derive(Debug)]
pub struct Supervisor {
    services: Arc<Services>,
    watcher: Watcher,
}

impl Supervisor {
    /// Starts to watch the services that are known in this directory, and to start those that start with the host.
    pub(crate) fn open(tree: Arc<HostTree>, directory: &Path) -> Result<Supervisor, HostError> {
        let records = RecordDirectory::open(directory)?;
        let services = Arc::new(Services { tree, records, boot: boot_id() });
        let watcher = Watcher::start(services.clone())?;
        Ok(Supervisor { services, watcher })
    }
}

impl ServiceManager for Supervisor {
    fn status(&self, unit: &str) -> Result<ServiceStatus, HostError> {
        let services = &self.services;
        let record = services.record(unit)?;
        let source = find(&services.tree, unit)?;
        let run = match &source {
            ServiceSource::Script(path) if script_runs(path)? => RunState::Running,
            ServiceSource::Script(_) => RunState::Stopped,
            ServiceSource::Unit(definition) => match services.running(&record, definition)? {
                Some(_) => RunState::Running,
                None if record.running == Running::Done => RunState::Running,
                None => RunState::Stopped,
            },
            // The unit file may be gone while the service still runs.
            ServiceSource::Masked | ServiceSource::Missing => match record.running {
                Running::Process(id) if id.running().is_some() => RunState::Running,
                _ => RunState::Stopped,
            },
        };
        let startup = match (&source, record.enabled) {
            (ServiceSource::Masked, _) => StartupState::Masked,
            (_, true) => StartupState::Enabled,
            (_, false) => StartupState::Disabled,
        };
        Ok(ServiceStatus { run, startup })
    }

    fn perform(&self, unit: &str, action: ServiceAction) -> Result<(), HostError> {
        let _lock = self.services.records.lock()?;
        let done = match action {
            ServiceAction::Start => self.services.start(unit),
            ServiceAction::Stop => self.services.stop(unit),
            ServiceAction::Restart => self.services.restart(unit),
            ServiceAction::Reload => self.services.reload(unit),
            ServiceAction::Enable => self.services.enable(unit),
            ServiceAction::Disable => self.services.change(unit, |record| record.enabled = false).map(drop),
        };
        self.watcher.wake();
        done
    }

    fn reload_definitions(&self) -> Result<(), HostError> {
        // Unit files are read whenever they are needed.
        Ok(())
    }

    fn timer_support(&self) -> TimerSupport {
        TimerSupport::Cron
    }
}

#[cfg(test)]
mod tests;
