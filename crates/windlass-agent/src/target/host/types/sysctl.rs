//! Kernel settings: a line in `/etc/sysctl.d/60-windlass.conf` for the next boot, and `/proc/sys` for now.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use windlass_core::host::HostItem;
use windlass_core::value::SettingName;

use super::text_file::write_text;
use crate::target::host::error::HostError;
use crate::target::host::item_type::ItemType;
use crate::target::host::machine::Machine;
use crate::target::host::tree::{Attributes, PathType};
use windlass_core::host::{FieldDifference, push_value};

/// The settings that the host reads when it starts. Each change writes the file as a whole.
const SETTINGS: &str = "/etc/sysctl.d/60-windlass.conf";

/// Kernel settings.
pub(crate) struct SysctlType;

/// A setting before the agent's first change.
#[derive(Serialize, Deserialize)]
pub(crate) struct PreviousSetting {
    /// The value in the file.
    at_boot: Option<String>,
    /// The value in the kernel.
    current: Option<String>,
}

impl ItemType for SysctlType {
    const NAME: &'static str = "sysctl";
    const ID_KIND: &'static str = "sysctl";
    type Desired<'i> = (&'i SettingName, &'i String);
    type Previous = PreviousSetting;

    fn of(item: &HostItem) -> Option<Self::Desired<'_>> {
        match item {
            HostItem::Sysctl(name, value) => Some((name, value)),
            _ => None,
        }
    }

    fn paths(_machine: &Machine<'_>, _: Self::Desired<'_>) -> Vec<String> {
        vec![SETTINGS.to_owned()]
    }

    fn differences(
        machine: &Machine<'_>,
        (name, value): Self::Desired<'_>,
    ) -> Result<Vec<FieldDifference>, HostError> {
        let found = observe(machine, name.as_str())?;
        let mut differences = Vec::new();
        let value = normalised(value);
        push_value(&mut differences, "at_boot", found.at_boot.as_deref(), Some(&value));
        if found.current.is_some() {
            push_value(&mut differences, "current", found.current.as_deref(), Some(&value));
        }
        Ok(differences)
    }

    fn remember(machine: &Machine<'_>, (name, _): Self::Desired<'_>) -> Result<PreviousSetting, HostError> {
        observe(machine, name.as_str())
    }

    fn apply(machine: &Machine<'_>, (name, value): Self::Desired<'_>) -> Result<(), HostError> {
        let value = normalised(value);
        set_at_boot(machine, name.as_str(), Some(&value))?;
        set_current(machine, name.as_str(), Some(&value))
    }

    fn removal_differences(
        machine: &Machine<'_>,
        name: &str,
        previous: &PreviousSetting,
    ) -> Result<Vec<FieldDifference>, HostError> {
        let found = observe(machine, name)?;
        let mut differences = Vec::new();
        push_value(&mut differences, "at_boot", found.at_boot.as_deref(), previous.at_boot.as_deref());
        if previous.current.is_some() {
            push_value(&mut differences, "current", found.current.as_deref(), previous.current.as_deref());
        }
        Ok(differences)
    }

    fn remove(machine: &Machine<'_>, name: &str, previous: &PreviousSetting) -> Result<(), HostError> {
        set_at_boot(machine, name, previous.at_boot.as_deref())?;
        set_current(machine, name, previous.current.as_deref())
    }
}

fn observe(machine: &Machine<'_>, name: &str) -> Result<PreviousSetting, HostError> {
    let at_boot = settings(machine)?.remove(name);
    let path = kernel_path(name);
    let current = machine.tree.read_text(&path)?.map(|value| normalised(&value));
    Ok(PreviousSetting { at_boot, current })
}

fn settings(machine: &Machine<'_>) -> Result<BTreeMap<String, String>, HostError> {
    let text = machine.tree.read_text(SETTINGS)?.unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with(['#', ';']));
    let settings = lines.filter_map(|line| line.split_once('='));
    Ok(settings.map(|(name, value)| (name.trim().to_owned(), normalised(value))).collect())
}

fn set_at_boot(machine: &Machine<'_>, name: &str, value: Option<&str>) -> Result<(), HostError> {
    let mut settings = settings(machine)?;
    match value {
        Some(value) => settings.insert(name.to_owned(), value.to_owned()),
        None => settings.remove(name),
    };
    if settings.is_empty() {
        return machine.tree.remove_file(SETTINGS);
    }
    let mut text = "# Written by Windlass. It replaces this file as a whole.\n".to_owned();
    for (name, value) in settings {
        text.push_str(&format!("{name} = {value}\n"));
    }
    write_text(machine, SETTINGS, &text, &Attributes { mode: 0o644, uid: 0, gid: 0, label: None })
}

/// Sets the value in the kernel, if it has the setting. A directory tree has none, unless it contains `/proc/sys`.
fn set_current(machine: &Machine<'_>, name: &str, value: Option<&str>) -> Result<(), HostError> {
    let path = kernel_path(name);
    let is_there = machine.tree.metadata(&path)?.is_some_and(|found| found.path_type == PathType::File);
    match value {
        Some(value)
            if is_there
                && machine.tree.read_text(&path)?.map(|now| normalised(&now)).as_deref() != Some(value) =>
        {
            machine.tree.write_in_place(&path, &format!("{value}\n"))
        }
        _ => Ok(()),
    }
}

/// The file of a setting. As for `sysctl`, the first `.` or `/` in a name decides which of the two separates its parts.
fn kernel_path(name: &str) -> String {
    let separator = name.find(['.', '/']).map_or(".", |at| &name[at..=at]);
    let parts: String = match separator {
        "/" => name.to_owned(),
        _ => name
            .chars()
            .map(|c| {
                if c == '.' {
                    '/'
                } else if c == '/' {
                    '.'
                } else {
                    c
                }
            })
            .collect(),
    };
    format!("/proc/sys/{parts}")
}

/// The kernel separates several numbers with tabs.
fn normalised(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::kernel_path;

    #[test]
    fn the_names_of_settings_become_paths() {
        for (name, path) in [
            ("net.ipv4.ip_forward", "/proc/sys/net/ipv4/ip_forward"),
            ("net.ipv4.conf.eth0/1.forwarding", "/proc/sys/net/ipv4/conf/eth0.1/forwarding"),
            ("net/ipv4/conf/eth0.1/forwarding", "/proc/sys/net/ipv4/conf/eth0.1/forwarding"),
        ] {
            assert_eq!(kernel_path(name), path);
        }
    }
}
