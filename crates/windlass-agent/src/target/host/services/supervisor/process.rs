//! Processes that the agent may not be the parent of: which one it is, whether it runs, and signals that reach no other.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, pidfd_send_signal, waitid,
};
use serde::{Deserialize, Serialize};

/// A process. Its number alone may belong to another one later; with the time of its start it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessId {
    pub(super) pid: i32,
    /// In ticks since the boot.
    started: u64,
}

/// A process that runs, held so that its number is not used again.
#[derive(Debug)]
pub(super) struct RunningProcess {
    id: ProcessId,
    handle: OwnedFd,
}

/// A group of processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessGroup(Pid);

impl ProcessGroup {
    /// Sends a signal to all of them, if there are any.
    pub(super) fn signal(self, signal: Signal) {
        let _ = kill_process_group(self.0, signal);
    }
}

/// How a process ended, as far as anyone can know: only its parent learns more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessEnd {
    Status(i32),
    Signal(i32),
    Unknown,
}

impl std::fmt::Display for ProcessEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProcessEnd::Status(status) => write!(f, "it ended with status {status}"),
            ProcessEnd::Signal(signal) => write!(f, "signal {signal} ended it"),
            ProcessEnd::Unknown => f.write_str("it ended"),
        }
    }
}

/// What `/proc` says about a process.
struct ProcessStat {
    is_dead: bool,
    group: i32,
    started: u64,
}

fn stat(pid: i32) -> Option<ProcessStat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses, and may contain anything.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let is_dead = matches!(*fields.first()?, "Z" | "X" | "x");
    Some(ProcessStat { is_dead, group: fields.get(2)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
}

/// Changes with each boot, of the machine or of the container.
pub(super) fn boot_id() -> String {
    let machine = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let first = stat(1).map_or(0, |first| first.started);
    format!("{}-{first}", machine.trim())
}

impl ProcessId {
    /// The process that has this number now.
    pub(super) fn of(pid: i32) -> Option<ProcessId> {
        let found = stat(pid).filter(|found| !found.is_dead)?;
        Some(ProcessId { pid, started: found.started })
    }

    /// The process, if it still runs.
    pub(super) fn running(self) -> Option<RunningProcess> {
        let handle = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        // Read after opening: now the number cannot change hands any more.
        let found = stat(self.pid).filter(|found| !found.is_dead && found.started == self.started);
        found.map(|_| RunningProcess { id: self, handle })
    }

    /// How it ended, if it was a child of the agent. This lets the system forget it.
    pub(super) fn reap(self) -> ProcessEnd {
        let Some(pid) = Pid::from_raw(self.pid) else { return ProcessEnd::Unknown };
        let is_this = stat(self.pid).is_some_and(|found| found.started == self.started);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let ended = if is_this { waitid(WaitId::Pid(pid), options) } else { Ok(None) };
        match ended {
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(status), _) => ProcessEnd::Status(status),
                (_, Some(signal)) => ProcessEnd::Signal(signal),
                _ => ProcessEnd::Unknown,
            },
            _ => ProcessEnd::Unknown,
        }
    }
}

impl RunningProcess {
    pub(super) fn id(&self) -> ProcessId {
        self.id
    }

    pub(super) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// Sends a signal. A process that has just ended gets none.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    /// The group that it leads, if it leads one.
    pub(super) fn group(&self) -> Option<ProcessGroup> {
        let leads = stat(self.id.pid).is_some_and(|found| found.group == self.id.pid);
        Pid::from_raw(self.id.pid).filter(|_| leads).map(ProcessGroup)
    }

    /// Waits for its end, at most this long. Returns whether it has ended.
    pub(super) fn wait(&self, limit: Duration) -> bool {
        let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
        let mut handles = [PollFd::new(&self.handle, PollFlags::IN)];
        loop {
            match poll(&mut handles, Some(&limit)) {
                Err(Errno::INTR) => {}
                result => return result.is_ok_and(|ready| ready > 0),
            }
        }
    }

    /// Whether the process does something of its own when it gets this signal.
    pub(super) fn catches(&self, signal: Signal) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id.pid)).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        mask & (1 << (signal.as_raw() - 1)) != 0
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[expect(clippy::zombie_processes, reason = "`reap` waits for it")]
    fn a_process_is_known_by_its_number_and_its_start() {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let id = ProcessId::of(child.id() as i32).unwrap();
        let running = id.running().unwrap();
        assert!(ProcessId { started: id.started + 1, ..id }.running().is_none(), "another process");
        assert!(!running.wait(Duration::ZERO) && !running.catches(Signal::HUP));
        running.signal(Signal::TERM);
        assert!(running.wait(Duration::from_secs(60)));
        assert!(id.running().is_none(), "a process that nobody waited for has ended too");
        assert_eq!(id.reap(), ProcessEnd::Signal(15));
        assert_eq!(id.reap(), ProcessEnd::Unknown);
    }

    #[test]
    fn the_first_process_and_the_boot_have_ids() {
        assert!(ProcessId::of(1).is_some());
        assert_eq!(boot_id(), boot_id());
    }
}
