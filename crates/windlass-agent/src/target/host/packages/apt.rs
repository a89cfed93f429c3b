//! Packages of Debian and Ubuntu.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use windlass_core::value::PackagePin;

use super::PackageManager;
use crate::target::host::command::{self, COMMAND_LIMIT, CommandOutput};
use crate::target::host::error::HostError;

/// What apt prints if its lists do not contain a package or a version.
const NOT_FOUND: &[&str] = &["Unable to locate package", "was not found", "has no installation candidate"];

/// apt and dpkg.
#[derive(Debug, Default)]
pub struct Apt {
    /// The tree to work in; `None` is the machine itself.
    root: Option<PathBuf>,
    installed: Mutex<Option<BTreeMap<String, String>>>,
    held: Mutex<Option<BTreeSet<String>>>,
}

impl Apt {
    /// Works on the machine itself.
    pub fn on_machine() -> Apt {
        Apt::default()
    }

    /// Works in a tree with a package database, through `chroot`.
    pub fn in_tree(root: &Path) -> Apt {
        Apt { root: Some(root.to_owned()), ..Apt::default() }
    }

    fn run(&self, arguments: &[&str]) -> Result<CommandOutput, HostError> {
        let root = self.root.as_ref().map(|root| root.display().to_string());
        let mut all: Vec<&str> = root.iter().flat_map(|root| ["chroot", root.as_str()]).collect();
        all.extend(arguments);
        command::run(&all, COMMAND_LIMIT)
    }

    fn run_checked(&self, arguments: &[&str]) -> Result<String, HostError> {
        let output = self.run(arguments)?;
        match output.succeeded {
            true => Ok(output.stdout),
            false => Err(HostError::CommandFailed { command: arguments.join(" "), output: output.shown }),
        }
    }

    fn read_installed(&self) -> Result<BTreeMap<String, String>, HostError> {
        let format = "${Package}\t${Architecture}\t${Version}\t${db:Status-Status}\n";
        let listed = self.run_checked(&["dpkg-query", "-W", "-f", format])?;
        let mut installed = BTreeMap::new();
        for line in listed.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            if let [name, architecture, version, "installed"] = fields[..] {
                installed.insert(name.to_owned(), version.to_owned());
                installed.insert(format!("{name}:{architecture}"), version.to_owned());
            }
        }
        Ok(installed)
    }

    fn read_held(&self) -> Result<BTreeSet<String>, HostError> {
        Ok(self.run_checked(&["apt-mark", "showhold"])?.lines().map(str::to_owned).collect())
    }
}

impl PackageManager for Apt {
    fn forget_observations(&self) {
        *self.installed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        *self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
    }

    fn installed(&self, name: &str) -> Result<Option<String>, HostError> {
        let mut installed = self.installed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if installed.is_none() {
            *installed = Some(self.read_installed()?);
        }
        Ok(installed.as_ref().and_then(|installed| installed.get(name)).cloned())
    }

    fn install(&self, pins: &[&PackagePin]) -> Result<(), HostError> {
        self.forget_observations();
        let pins: Vec<String> = pins.iter().map(ToString::to_string).collect();
        // A pin may name an older version, or a package that the module also holds. Installing one package never removes
        // another: that would be a change that nobody approved.
        let mut arguments = vec![
            "apt-get",
            "install",
            "-y",
            "--no-install-recommends",
            "--no-remove",
            "--allow-downgrades",
            "--allow-change-held-packages",
            "-o",
            "Dpkg::Options::=--force-confold",
        ];
        arguments.extend(pins.iter().map(String::as_str));
        let output = self.run(&arguments)?;
        if output.succeeded {
            return Ok(());
        }
        if NOT_FOUND.iter().any(|message| output.shown.contains(message)) {
            self.run_checked(&["apt-get", "update", "-q"])?;
            return self.run_checked(&arguments).map(drop);
        }
        Err(HostError::CommandFailed { command: arguments.join(" "), output: output.shown })
    }

    fn remove(&self, name: &str) -> Result<(), HostError> {
        self.forget_observations();
        self.run_checked(&["apt-get", "remove", "-y", "--allow-change-held-packages", name]).map(drop)
    }

    fn is_held(&self, name: &str) -> Result<bool, HostError> {
        let mut held = self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if held.is_none() {
            *held = Some(self.read_held()?);
        }
        Ok(held.as_ref().is_some_and(|held| held.contains(name)))
    }

    fn hold(&self, name: &str) -> Result<(), HostError> {
        self.forget_observations();
        self.run_checked(&["apt-mark", "hold", name]).map(drop)
    }

    fn unhold(&self, name: &str) -> Result<(), HostError> {
        self.forget_observations();
        self.run_checked(&["apt-mark", "unhold", name]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Needs a machine with dpkg; elsewhere it checks nothing.
    #[test]
    fn the_installed_packages_of_this_machine_are_found() {
        if !Path::new("/usr/bin/dpkg-query").exists() {
            return;
        }
        let apt = Apt::on_machine();
        let version = apt.installed("dpkg").unwrap();
        assert!(version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit())));
        assert_eq!(apt.installed("windlass-no-such-package").unwrap(), None);
    }
}
