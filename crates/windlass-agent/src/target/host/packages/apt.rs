//! Packages of Debian and Ubuntu.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use windlass_core::value::PackagePin;

use super::PackageManager;
use crate::target::host::command::{self, COMMAND_LIMIT, CommandOutput, SHORT_LIMIT};
use crate::target::host::error::HostError;

/// What apt prints if its lists do not contain a package or a version, or are older than what the archive has.
const STALE_LISTS: &[&str] = &[
    "Unable to locate package",
    "was not found",
    "has no installation candidate",
    "Unable to fetch some archives",
    "Failed to fetch",
];

/// What apt and dpkg print while another process works with packages.
const LOCKED: &[&str] =
    &["Could not get lock", "lock was locked by another process", "Unable to acquire the dpkg frontend lock"];

/// What apt prints after a crash or a power cut in the middle of an installation.
const INTERRUPTED: &str = "dpkg was interrupted";

/// How long the agent waits for another process that works with packages: unattended upgrades take minutes.
const LOCK_WAIT: Duration = Duration::from_secs(10 * 60);

/// How often it tries meanwhile.
const LOCK_PAUSE: Duration = Duration::from_secs(2);

/// An archive that does not answer is an error after a while, not a hang.
const OPTIONS: &[&str] = &[
    "-o",
    "Acquire::Retries=2",
    "-o",
    "Acquire::http::Timeout=30",
    "-o",
    "Acquire::https::Timeout=30",
    "-o",
    "Dpkg::Use-Pty=0",
    "-o",
    "Dpkg::Options::=--force-confold",
];

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

    fn run(&self, arguments: &[&str], limit: Duration) -> Result<CommandOutput, HostError> {
        let root = self.root.as_ref().map(|root| root.display().to_string());
        let mut all: Vec<&str> = root.iter().flat_map(|root| ["chroot", root.as_str()]).collect();
        all.extend(arguments);
        command::run(&all, limit)
    }

    /// Runs a command that only reads.
    fn query(&self, arguments: &[&str]) -> Result<String, HostError> {
        checked(arguments, self.run(arguments, SHORT_LIMIT)?)
    }

    /// Runs a command that changes packages, once no other process does so.
    fn change(&self, arguments: &[&str]) -> Result<CommandOutput, HostError> {
        let end = Instant::now() + LOCK_WAIT;
        loop {
            let output = self.run(arguments, COMMAND_LIMIT)?;
            let is_locked = !output.succeeded && LOCKED.iter().any(|message| output.shown.contains(message));
            if !is_locked || Instant::now() >= end {
                return Ok(output);
            }
            thread::sleep(LOCK_PAUSE);
        }
    }

    /// Runs `apt-get`; what it needs to go on is done once.
    fn apt_get(&self, arguments: &[&str]) -> Result<(), HostError> {
        let arguments = [&["apt-get"], OPTIONS, arguments].concat();
        let mut output = self.change(&arguments)?;
        if !output.succeeded && output.shown.contains(INTERRUPTED) {
            let finish = ["dpkg", "--force-confold", "--configure", "-a"];
            checked(&finish, self.change(&finish)?)?;
            output = self.change(&arguments)?;
        }
        if output.succeeded || !STALE_LISTS.iter().any(|message| output.shown.contains(message)) {
            return checked(&arguments, output).map(drop);
        }
        let update = [&["apt-get"], OPTIONS, &["update", "-q"]].concat();
        let updated = checked(&update, self.change(&update)?)?;
        output = self.change(&arguments)?;
        let problems = problems_of(&updated);
        if !output.succeeded && !problems.is_empty() {
            // apt succeeds although it has not reached an archive.
            output.shown = format!("{} (its lists are old: {problems})", output.shown);
        }
        checked(&arguments, output).map(drop)
    }

    /// The packages that a command would remove.
    fn would_remove(&self, arguments: &[&str]) -> Result<BTreeSet<String>, HostError> {
        let arguments =
            [&["apt-get", "--simulate", "-q", "--allow-change-held-packages"], arguments].concat();
        let printed = self.query(&arguments)?;
        let removed = printed.lines().filter_map(|line| line.strip_prefix("Remv "));
        Ok(removed.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
    }

    fn read_installed(&self) -> Result<BTreeMap<String, String>, HostError> {
        let format = "${Package}\t${Architecture}\t${Version}\t${db:Status-Status}\n";
        let listed = self.query(&["dpkg-query", "-W", "-f", format])?;
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
        Ok(self.query(&["apt-mark", "showhold"])?.lines().map(str::to_owned).collect())
    }
}

impl PackageManager for Apt {
    fn forget_observations(&self) {
        *self.installed.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn installed(&self, name: &str) -> Result<Option<String>, HostError> {
        let mut installed = self.installed.lock().unwrap_or_else(PoisonError::into_inner);
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
            "install",
            "-y",
            "--no-install-recommends",
            "--no-remove",
            "--allow-downgrades",
            "--allow-change-held-packages",
        ];
        arguments.extend(pins.iter().map(String::as_str));
        self.apt_get(&arguments)
    }

    fn remove(&self, names: &[&str]) -> Result<(), HostError> {
        self.forget_observations();
        let others = needed_by(&self.would_remove(&[&["remove"], names].concat())?, names);
        if !others.is_empty() {
            let packages = names.iter().map(|name| (*name).to_owned()).collect();
            return Err(HostError::PackageNeeded { packages, others });
        }
        // What apt installed only because these packages needed it goes with them.
        let unneeded_before = self.would_remove(&["autoremove"])?;
        let unneeded_after = self.would_remove(&[&["autoremove"], names].concat())?;
        let mut arguments = vec!["remove", "-y", "--allow-change-held-packages"];
        arguments.extend(names);
        arguments.extend(unneeded_after.difference(&unneeded_before).map(String::as_str));
        self.apt_get(&arguments)
    }

    fn is_held(&self, name: &str) -> Result<bool, HostError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() {
            *held = Some(self.read_held()?);
        }
        Ok(held.as_ref().is_some_and(|held| held.contains(name)))
    }

    fn hold(&self, name: &str) -> Result<(), HostError> {
        self.forget_observations();
        let arguments = ["apt-mark", "hold", name];
        checked(&arguments, self.change(&arguments)?).map(drop)
    }

    fn unhold(&self, name: &str) -> Result<(), HostError> {
        self.forget_observations();
        let arguments = ["apt-mark", "unhold", name];
        checked(&arguments, self.change(&arguments)?).map(drop)
    }
}

fn checked(arguments: &[&str], output: CommandOutput) -> Result<String, HostError> {
    match output.succeeded {
        true => Ok(output.stdout),
        false => Err(HostError::CommandFailed { command: arguments.join(" "), output: output.shown }),
    }
}

/// The packages among `removed` that are not named. Names may have an architecture.
fn needed_by(removed: &BTreeSet<String>, names: &[&str]) -> Vec<String> {
    let plain = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
    let named: BTreeSet<String> = names.iter().map(|name| plain(name)).collect();
    removed.iter().filter(|name| !named.contains(&plain(name))).cloned().collect()
}

/// The lines of `apt-get update` about archives that it did not reach.
fn problems_of(printed: &str) -> String {
    let lines = printed
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("Err:") || line.starts_with("Could not"));
    lines.take(3).collect::<Vec<_>>().join("; ")
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

    #[test]
    fn packages_that_need_a_removed_one_are_named() {
        let removed = ["nginx", "nginx-extras", "libc6:i386"].map(str::to_owned).into();
        assert_eq!(needed_by(&removed, &["nginx", "libc6:i386"]), ["nginx-extras"]);
    }
}
