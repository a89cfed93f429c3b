//! Packages of Fedora, RHEL and their relatives. Holds need the versionlock plugin of dnf.

use windlass_core::value::PackagePin;

use super::PackageManager;
use crate::target::host::command::{self, COMMAND_LIMIT, SHORT_LIMIT};
use crate::target::host::error::HostError;

/// What dnf prints if its lists do not contain a package or a version.
const NOT_FOUND: &[&str] = &["No match for argument", "Unable to find a match"];

/// Nothing asks, and a repository that does not answer is an error after a while, not a hang.
const OPTIONS: &[&str] = &["-y", "--setopt=timeout=30", "--setopt=retries=2"];

/// dnf and rpm, on the machine itself.
#[derive(Debug, Default)]
pub struct Dnf;

impl PackageManager for Dnf {
    fn forget_observations(&self) {}

    fn installed(&self, name: &str) -> Result<Option<String>, HostError> {
        let format = "%{VERSION}-%{RELEASE}\n";
        let output = command::run(&["rpm", "-q", "--qf", format, &dnf_name(name)], SHORT_LIMIT)?;
        // rpm lists several versions of packages such as kernels; the last one is the newest.
        Ok(output.succeeded.then(|| output.stdout.lines().last().map(str::to_owned)).flatten())
    }

    fn install(&self, pins: &[&PackagePin]) -> Result<(), HostError> {
        let specs: Vec<String> = pins.iter().map(|pin| install_spec(pin)).collect();
        let mut arguments = [&["dnf"], OPTIONS, &["install", "--setopt=install_weak_deps=False"]].concat();
        arguments.extend(specs.iter().map(String::as_str));
        let output = command::run(&arguments, COMMAND_LIMIT)?;
        if output.succeeded {
            return Ok(());
        }
        if NOT_FOUND.iter().any(|message| output.shown.contains(message)) {
            arguments.insert(1, "--refresh");
            return command::run_checked(&arguments, COMMAND_LIMIT).map(drop);
        }
        Err(HostError::CommandFailed { command: arguments.join(" "), output: output.shown })
    }

    fn remove(&self, names: &[&str]) -> Result<(), HostError> {
        let names: Vec<String> = names.iter().map(|name| dnf_name(name)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        // dnf would remove packages that need these too; rpm refuses, and says which.
        command::run_checked(&[&["rpm", "-e", "--test"], &names[..]].concat(), SHORT_LIMIT)?;
        command::run_checked(&[&["dnf"], OPTIONS, &["remove"], &names].concat(), COMMAND_LIMIT).map(drop)
    }

    fn is_held(&self, name: &str) -> Result<bool, HostError> {
        let listed = command::run_checked(&["dnf", "-q", "versionlock", "list"], SHORT_LIMIT)?;
        Ok(listed.lines().any(|line| is_lock_of(line, name)))
    }

    fn hold(&self, name: &str) -> Result<(), HostError> {
        command::run_checked(&["dnf", "versionlock", "add", &dnf_name(name)], COMMAND_LIMIT).map(drop)
    }

    fn unhold(&self, name: &str) -> Result<(), HostError> {
        command::run_checked(&["dnf", "versionlock", "delete", &dnf_name(name)], COMMAND_LIMIT).map(drop)
    }
}

/// `nginx:x86_64` is `nginx.x86_64` for dnf.
fn dnf_name(name: &str) -> String {
    name.replace(':', ".")
}

fn install_spec(pin: &PackagePin) -> String {
    match (&pin.version, pin.name.as_str().split_once(':')) {
        (None, _) => dnf_name(pin.name.as_str()),
        (Some(version), None) => format!("{}-{version}", pin.name),
        (Some(version), Some((name, architecture))) => format!("{name}-{version}.{architecture}"),
    }
}

/// Whether a line such as `nginx-1:1.26.0-1.el9.*` locks a package. Version 5 of dnf writes `Package name: nginx`.
fn is_lock_of(line: &str, name: &str) -> bool {
    let name = name.split(':').next().unwrap_or(name);
    if let Some(locked) = line.trim().strip_prefix("Package name:") {
        return locked.trim() == name;
    }
    let rest = line.trim().strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
    rest.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use windlass_core::shape::TextValue;

    use super::*;

    #[test]
    fn pins_and_locks_are_spelled_as_dnf_does() {
        for (pin, spec) in [("nginx", "nginx"), ("nginx=1.26.*", "nginx-1.26.*"), ("a:x86=1", "a-1.x86")] {
            assert_eq!(install_spec(&PackagePin::read(pin).unwrap()), spec);
        }
        assert!(is_lock_of("nginx-1:1.26.0-1.el9.*", "nginx"));
        assert!(
            is_lock_of("Package name: nginx", "nginx") && !is_lock_of("Package name: nginx-core", "nginx")
        );
        assert!(!is_lock_of("nginx-core-1:1.26.0-1.el9.*", "nginx"));
    }
}
