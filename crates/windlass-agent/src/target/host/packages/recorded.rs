//! A simulation of a package manager, for demos and tests: it installs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_core::value::PackagePin;

use super::PackageManager;
use crate::target::host::error::HostError;
use crate::target::host::recorded_file;
use crate::target::host::tree::HostTree;

/// The file below the root.
const RECORD: &str = "/var/lib/windlass/recorded-packages.json";

/// Simulates a package manager in a directory tree without a package database. It writes the names of packages that a
/// machine would have to `var/lib/windlass/recorded-packages.json`, and installs nothing.
#[derive(Debug)]
pub struct RecordedPackages {
    tree: Arc<HostTree>,
}

#[derive(Default, Serialize, Deserialize)]
struct Record {
    installed: BTreeMap<String, String>,
    held: BTreeSet<String>,
}

impl RecordedPackages {
    pub(crate) fn new(tree: Arc<HostTree>) -> RecordedPackages {
        RecordedPackages { tree }
    }

    fn read(&self) -> Result<Record, HostError> {
        recorded_file::read(&self.tree, RECORD)
    }

    fn change(&self, change: impl FnOnce(&mut Record)) -> Result<(), HostError> {
        let mut record = self.read()?;
        change(&mut record);
        recorded_file::write(&self.tree, RECORD, &record)
    }
}

impl PackageManager for RecordedPackages {
    fn forget_observations(&self) {}

    fn installed(&self, name: &str) -> Result<Option<String>, HostError> {
        Ok(self.read()?.installed.get(name).cloned())
    }

    fn install(&self, pins: &[&PackagePin]) -> Result<(), HostError> {
        self.change(|record| {
            let version = |pin: &PackagePin| match pin.version.as_deref() {
                None => "1.0".to_owned(),
                Some(version) => version.replace('*', "0"),
            };
            record.installed.extend(pins.iter().map(|pin| (pin.name.to_string(), version(pin))));
        })
    }

    fn remove(&self, names: &[&str]) -> Result<(), HostError> {
        self.change(|record| record.installed.retain(|installed, _| !names.contains(&installed.as_str())))
    }

    fn is_held(&self, name: &str) -> Result<bool, HostError> {
        Ok(self.read()?.held.contains(name))
    }

    fn hold(&self, name: &str) -> Result<(), HostError> {
        self.change(|record| {
            record.held.insert(name.to_owned());
        })
    }

    fn unhold(&self, name: &str) -> Result<(), HostError> {
        self.change(|record| {
            record.held.remove(name);
        })
    }
}
