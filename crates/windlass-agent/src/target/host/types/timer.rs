//! Commands on a schedule: units of systemd, or a file in `/etc/cron.d`.

use std::path::Path;

use serde::{Deserialize, Serialize};
use windlass_core::host::HostItem;
use windlass_core::resource::HostTimer;
use windlass_core::value::UnitName;

use super::text_file::{push_text, write_text};
use crate::target::host::error::HostError;
use crate::target::host::item_type::ItemType;
use crate::target::host::machine::Machine;
use crate::target::host::previous::{self, PreviousPath};
use crate::target::host::services::{RunState, ServiceAction, StartupState, TimerSupport};
use crate::target::host::tree::Attributes;
use windlass_core::host::{FieldDifference, push_value};

/// Where the programs are that read `/etc/cron.d`.
const CRON: &[&str] = &["/usr/sbin/cron", "/usr/sbin/crond"];

/// Commands on a schedule.
pub(crate) struct TimerType;

/// The files of a timer before the agent's first change, by path.
#[derive(Serialize, Deserialize)]
pub(crate) struct PreviousTimer {
    files: Vec<(String, PreviousPath)>,
}

impl ItemType for TimerType {
    const NAME: &'static str = "timer";
    const ID_KIND: &'static str = "timer";
    type Desired<'i> = (&'i UnitName, &'i HostTimer);
    type Previous = PreviousTimer;

    fn of(item: &HostItem) -> Option<Self::Desired<'_>> {
        match item {
            HostItem::Timer(name, timer) => Some((name, timer)),
            _ => None,
        }
    }

    fn paths(machine: &Machine<'_>, (name, _): Self::Desired<'_>) -> Vec<String> {
        match machine.services.timer_support() {
            TimerSupport::Systemd => unit_paths(name.as_str()).to_vec(),
            TimerSupport::Cron => vec![cron_path(name.as_str())],
        }
    }

    fn differences(
        machine: &Machine<'_>,
        (name, timer): Self::Desired<'_>,
    ) -> Result<Vec<FieldDifference>, HostError> {
        let mut differences = Vec::new();
        for (path, text) in files(machine, name.as_str(), timer)? {
            push_text(machine, &mut differences, &path, &text)?;
        }
        if machine.services.timer_support() == TimerSupport::Systemd {
            let status = machine.services.status(&timer_unit(name.as_str()))?;
            let is_on = status.run == RunState::Running && status.startup != StartupState::Disabled;
            let observed = if is_on { "scheduled" } else { "not scheduled" };
            push_value(&mut differences, "state", Some(observed), Some("scheduled"));
        }
        Ok(differences)
    }

    fn remember(machine: &Machine<'_>, (name, timer): Self::Desired<'_>) -> Result<PreviousTimer, HostError> {
        let paths = files(machine, name.as_str(), timer)?.into_iter().map(|(path, _)| path);
        let remembered =
            paths.map(|path| previous::remember(machine, &path).map(|previous| (path, previous)));
        Ok(PreviousTimer { files: remembered.collect::<Result<_, _>>()? })
    }

    fn apply(machine: &Machine<'_>, (name, timer): Self::Desired<'_>) -> Result<(), HostError> {
        let uses_cron = machine.services.timer_support() == TimerSupport::Cron;
        if uses_cron && machine.tree.is_machine() && !CRON.iter().any(|path| Path::new(path).exists()) {
            let message = "this host has neither systemd nor cron: install the package `cron`";
            return Err(HostError::Unsupported(message.to_owned()));
        }
        for (path, text) in files(machine, name.as_str(), timer)? {
            write_text(machine, &path, &text, &Attributes { mode: 0o644, uid: 0, gid: 0, label: None })?;
        }
        if uses_cron {
            return Ok(());
        }
        let unit = timer_unit(name.as_str());
        machine.effect("reloading unit files", || machine.services.reload_definitions())?;
        machine.perform(&unit, ServiceAction::Enable)?;
        // A timer that runs already keeps its old schedule until it is restarted.
        match machine.services.status(&unit)?.run {
            RunState::Running => machine.perform(&unit, ServiceAction::Restart),
            RunState::Stopped => machine.perform(&unit, ServiceAction::Start),
        }
    }

    /// The units may be written, and systemd still follow the old schedule.
    fn finish_interrupted(machine: &Machine<'_>, desired: Self::Desired<'_>) -> Result<(), HostError> {
        Self::apply(machine, desired)
    }

    fn removal_differences(
        machine: &Machine<'_>,
        _name: &str,
        previous: &PreviousTimer,
    ) -> Result<Vec<FieldDifference>, HostError> {
        let mut differences = Vec::new();
        for (path, before) in &previous.files {
            differences.extend(previous::restore_differences(machine, path, before)?);
        }
        Ok(differences)
    }

    fn remove(machine: &Machine<'_>, name: &str, previous: &PreviousTimer) -> Result<(), HostError> {
        let is_systemd = machine.services.timer_support() == TimerSupport::Systemd;
        let unit = timer_unit(name);
        if is_systemd {
            let status = machine.services.status(&unit)?;
            if status.run == RunState::Running {
                machine.perform(&unit, ServiceAction::Stop)?;
            }
            if status.startup == StartupState::Enabled {
                machine.perform(&unit, ServiceAction::Disable)?;
            }
        }
        for (path, before) in previous.files.iter().rev() {
            previous::restore(machine, path, before)?;
        }
        match is_systemd {
            true => machine.effect("reloading unit files", || machine.services.reload_definitions()),
            false => Ok(()),
        }
    }
}

fn timer_unit(name: &str) -> String {
    format!("windlass-{name}.timer")
}

fn unit_paths(name: &str) -> [String; 2] {
    ["service", "timer"].map(|suffix| format!("/etc/systemd/system/windlass-{name}.{suffix}"))
}

/// Cron ignores files with a dot in the name, so other characters become dashes, and a digest keeps the names apart.
fn cron_path(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.chars().all(is_plain) {
        return format!("/etc/cron.d/windlass-{name}");
    }
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    format!("/etc/cron.d/windlass-{plain}-{}", &blake3::hash(name.as_bytes()).to_hex()[..8])
}

/// The files of a timer, by path.
fn files(machine: &Machine<'_>, name: &str, timer: &HostTimer) -> Result<Vec<(String, String)>, HostError> {
    if machine.services.timer_support() == TimerSupport::Cron {
        return Ok(vec![(cron_path(name), cron_text(timer)?)]);
    }
    let [service, schedule] = unit_paths(name);
    let service_text = format!(
        "# Written by Windlass.\n[Unit]\nDescription=Windlass timer {name}\n\n[Service]\nType=oneshot\nUser={}\n\
         ExecStart=/bin/sh -c \"{}\"\n",
        timer.user,
        unit_escaped(&timer.command)
    );
    let schedule_text = format!(
        "# Written by Windlass.\n[Unit]\nDescription=Windlass timer {name}\n\n[Timer]\nOnCalendar={}\n\
         Persistent=true\n\n[Install]\nWantedBy=timers.target\n",
        timer.schedule.as_on_calendar()
    );
    Ok(vec![(service, service_text), (schedule, schedule_text)])
}

/// A command inside double quotes of a unit file, without specifiers and variables of systemd.
fn unit_escaped(command: &str) -> String {
    let mut escaped = String::with_capacity(command.len());
    for c in command.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '%' => escaped.push_str("%%"),
            '$' => escaped.push_str("$$"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn cron_text(timer: &HostTimer) -> Result<String, HostError> {
    let command = timer.command.trim_end();
    if command.contains(['\n', '\r']) {
        let message = "cron runs commands of one line only: put the lines into a file and run that";
        return Err(HostError::Unsupported(message.to_owned()));
    }
    let path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let command = command.replace('%', "\\%");
    let schedule = timer.schedule.as_cron();
    Ok(format!("# Written by Windlass.\n{path}\n{schedule} {} {command}\n", timer.user))
}

#[cfg(test)]
mod tests {
    use super::{cron_path, unit_escaped};

    #[test]
    fn a_command_cannot_leave_its_line_in_a_unit() {
        let command = "echo \"100%\" $HOME \\\n[Service]\nUser=root";
        let escaped = "echo \\\"100%%\\\" $$HOME \\\\\\n[Service]\\nUser=root";
        assert_eq!(unit_escaped(command), escaped);
    }

    #[test]
    fn the_names_of_cron_files_have_no_dots() {
        assert_eq!(cron_path("backup"), "/etc/cron.d/windlass-backup");
        assert!(!cron_path("a.b")["/etc/cron.d/".len()..].contains('.'));
        assert_ne!(cron_path("a.b"), cron_path("a-b"));
    }
}
