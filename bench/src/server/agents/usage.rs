//! What a process used, as the kernel counts it.

use std::time::{Duration, Instant};

use nix::unistd::{SysconfVar, sysconf};

use crate::Outcome;

/// The CPU time of a process and of its threads, at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuMark {
    process_id: u32,
    used: Duration,
    at: Instant,
}

/// The CPU time between two moments.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuUse {
    pub(super) seconds: f64,
    /// In percent of one core.
    pub(super) percent: f64,
}

impl CpuMark {
    pub(super) fn now(process_id: u32) -> Outcome<CpuMark> {
        Ok(CpuMark { process_id, used: cpu_time(process_id)?, at: Instant::now() })
    }

    /// What was used since then.
    pub(super) fn since(&self) -> Outcome<CpuUse> {
        let seconds = cpu_time(self.process_id)?.saturating_sub(self.used).as_secs_f64();
        Ok(CpuUse { seconds, percent: 100.0 * seconds / self.at.elapsed().as_secs_f64().max(0.001) })
    }
}

/// The CPU time of a process, in user and kernel mode.
fn cpu_time(process_id: u32) -> Outcome<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process_id}/stat"))?;
    // The name of the program may contain spaces; the fields after it do not.
    let fields = stat.rsplit_once(')').ok_or("the kernel does not tell")?.1;
    let ticks =
        |index: usize| fields.split_whitespace().nth(index).and_then(|field| field.parse::<u64>().ok());
    let (user, system) = (ticks(11).ok_or("no user time")?, ticks(12).ok_or("no system time")?);
    let each_second = sysconf(SysconfVar::CLK_TCK)?.unwrap_or(100);
    Ok(Duration::from_secs_f64((user + system) as f64 / each_second as f64))
}

/// A field of `/proc/PID/status`, in KiB: `VmRSS`, `VmHWM`.
pub(super) fn memory_kib(process_id: u32, field: &str) -> Outcome<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process_id}/status"))?;
    let line = status.lines().find(|line| line.starts_with(&format!("{field}:")));
    Ok(line.and_then(|line| line.split_whitespace().nth(1)).ok_or("the kernel does not tell")?.parse()?)
}

/// The load of the machine: who runs the bench may not be alone on it.
pub(super) fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}
