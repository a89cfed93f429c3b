//! The services of a supervisor: starting, stopping and reloading them, and what is known about them.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use super::definition::{ServiceSource, find, script_of};
use super::launch::{Launch, written_process};
use super::process::{ProcessId, RunningProcess};
use super::record::{RecordDirectory, Running, ServiceRecord, Wanted};
use super::unit_file::{ServiceDefinition, StartType};
use crate::target::host::command;
use crate::target::host::error::HostError;
use crate::target::host::tree::HostTree;

/// How long a script in `/etc/init.d` may take.
const SCRIPT_LIMIT: Duration = Duration::from_secs(5 * 60);

/// How long a service may take to end whose unit file is gone.
const UNKNOWN_STOP_LIMIT: Duration = Duration::from_secs(10);

/// How long a script may take to say whether its service runs.
const SCRIPT_STATUS_LIMIT: Duration = Duration::from_secs(30);

/// The services, for the agent's runs and for the thread that watches.
#[derive(Debug)]
pub(super) struct Services {
    pub(super) tree: Arc<HostTree>,
    pub(super) records: RecordDirectory,
    pub(super) boot: String,
}

impl Services {
    /// What is known about a service in this boot.
    pub(super) fn record(&self, name: &str) -> Result<ServiceRecord, HostError> {
        let mut record = self.records.read(name)?;
        if record.boot != self.boot {
            record.running = Running::Nothing;
            record.wanted = if record.enabled { Wanted::Running } else { Wanted::Stopped };
            record.boot = self.boot.clone();
        }
        Ok(record)
    }

    pub(super) fn change(
        &self,
        name: &str,
        change: impl FnOnce(&mut ServiceRecord),
    ) -> Result<ServiceRecord, HostError> {
        let mut record = self.record(name)?;
        change(&mut record);
        self.records.write(name, &record)?;
        Ok(record)
    }

    /// The process of a service: the one that was started, or one that names itself in the file that the unit says.
    pub(super) fn running(
        &self,
        record: &ServiceRecord,
        definition: &ServiceDefinition,
    ) -> Result<Option<RunningProcess>, HostError> {
        if let Running::Process(id) = record.running
            && let Some(process) = id.running()
        {
            return Ok(Some(process));
        }
        match &definition.start_type {
            StartType::Forking { pid_file } => {
                Ok(written_process(&self.tree, pid_file)?.and_then(ProcessId::running))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn launch<'a>(&'a self, name: &'a str, definition: &'a ServiceDefinition) -> Launch<'a> {
        Launch { tree: &self.tree, records: &self.records, name, definition }
    }

    pub(super) fn start(&self, name: &str) -> Result<(), HostError> {
        let record = self.change(name, |record| record.wanted = Wanted::Running)?;
        let running = match find(&self.tree, name)? {
            ServiceSource::Script(path) => {
                run_script(&path, "start", name)?;
                Running::Script
            }
            ServiceSource::Unit(definition) => match self.running(&record, &definition)? {
                Some(process) => Running::Process(process.id()),
                None => {
                    self.stop_script(name)?;
                    self.launch(name, &definition).start()?
                }
            },
            ServiceSource::Masked => return Err(HostError::ServiceMasked { unit: name.to_owned() }),
            ServiceSource::Missing => return Err(unknown(name)),
        };
        self.change(name, |record| record.running = running).map(drop)
    }

    /// Stops what a script of the same name has started, for example while its package was installed.
    pub(super) fn stop_script(&self, name: &str) -> Result<(), HostError> {
        match script_of(&self.tree, name)? {
            Some(path) if script_runs(&path)? => run_script(&path, "stop", name),
            _ => Ok(()),
        }
    }

    pub(super) fn stop(&self, name: &str) -> Result<(), HostError> {
        // First the wish: the thread that watches must not start it again.
        let record = self.change(name, |record| record.wanted = Wanted::Stopped)?;
        match find(&self.tree, name)? {
            ServiceSource::Script(path) => run_script(&path, "stop", name)?,
            ServiceSource::Unit(definition) => {
                if let Some(process) = self.running(&record, &definition)? {
                    self.launch(name, &definition).stop(&process)?;
                }
            }
            ServiceSource::Masked | ServiceSource::Missing => {
                if let Running::Process(id) = record.running
                    && let Some(process) = id.running()
                {
                    process.signal(Signal::TERM);
                    if !process.wait(UNKNOWN_STOP_LIMIT) {
                        process.signal(Signal::KILL);
                    }
                }
            }
        }
        self.change(name, |record| record.running = Running::Nothing).map(drop)
    }

    pub(super) fn restart(&self, name: &str) -> Result<(), HostError> {
        self.stop(name)?;
        self.start(name)
    }

    pub(super) fn reload(&self, name: &str) -> Result<(), HostError> {
        match find(&self.tree, name)? {
            ServiceSource::Script(path) => run_script(&path, "force-reload", name),
            ServiceSource::Unit(definition) => {
                let process = self.running(&self.record(name)?, &definition)?;
                let reloaded =
                    process.map(|process| self.launch(name, &definition).reload(&process)).transpose()?;
                if reloaded.flatten().is_some() { Ok(()) } else { self.restart(name) }
            }
            ServiceSource::Masked | ServiceSource::Missing => Err(unknown(name)),
        }
    }

    /// A service that starts with the host is watched, also if something else has started it.
    pub(super) fn enable(&self, name: &str) -> Result<(), HostError> {
        let record = self.change(name, |record| record.enabled = true)?;
        let ServiceSource::Unit(definition) = find(&self.tree, name)? else { return Ok(()) };
        let Some(process) = self.running(&record, &definition)? else { return Ok(()) };
        self.change(name, |record| {
            record.wanted = Wanted::Running;
            record.running = Running::Process(process.id());
        })
        .map(drop)
    }
}

fn unknown(name: &str) -> HostError {
    let problem = "the host has no unit file and no script of this name".to_owned();
    HostError::ServiceFailed { action: "start", unit: name.to_owned(), problem }
}

/// Whether the service of a script runs. Scripts answer as the Linux Standard Base says.
pub(super) fn script_runs(path: &str) -> Result<bool, HostError> {
    Ok(command::run(&[path, "status"], SCRIPT_STATUS_LIMIT)?.succeeded)
}

pub(super) fn run_script(path: &str, verb: &'static str, name: &str) -> Result<(), HostError> {
    let output = command::run(&[path, verb], SCRIPT_LIMIT)?;
    match output.succeeded {
        true => Ok(()),
        false => {
            let action = if verb == "force-reload" { "reload" } else { verb };
            Err(HostError::ServiceFailed { action, unit: name.to_owned(), problem: output.shown })
        }
    }
}
