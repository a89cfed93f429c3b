//! Measures one process from a small process.
//!
//! The kernel counts the memory of the parent at the time of the fork towards the child's peak, and reports the peak of
//! the largest child. So the bench, which is large, starts itself again for every measurement: that process is small
//! and has one child.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};
use serde_json::{Value, json};

use crate::Outcome;
use crate::arguments::MEASURE;

/// The measurements of one process.
pub(crate) struct Measured {
    pub(crate) wall_ms: f64,
    /// In user and kernel mode, with everything that it started and waited for.
    pub(crate) cpu_ms: f64,
    pub(crate) peak_kib: u64,
    /// The exit code; -1 if a signal ended it.
    pub(crate) code: i64,
}

/// Runs a command in a new measuring process.
pub(crate) fn run(program: &Path, arguments: &[&str]) -> Outcome<Measured> {
    let output = Command::new(std::env::current_exe()?)
        .arg(MEASURE)
        .arg(program)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()?;
    let measured: Value = serde_json::from_slice(&output.stdout)?;
    let field = |name: &str| measured.get(name).ok_or_else(|| format!("no {name} was measured"));
    Ok(Measured {
        wall_ms: field("wall_ms")?.as_f64().unwrap_or_default(),
        cpu_ms: field("cpu_ms")?.as_f64().unwrap_or_default(),
        peak_kib: field("peak_kib")?.as_u64().unwrap_or_default(),
        code: field("code")?.as_i64().unwrap_or_default(),
    })
}

/// The measuring process: runs the command, discards its output, and prints its measurements.
pub(crate) fn measure(command: &[String]) -> Outcome<()> {
    let (program, arguments) = command.split_first().ok_or("there is no command to measure")?;
    let started = Instant::now();
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).status()?;
    let wall = started.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let milliseconds = |time: TimeVal| time.num_microseconds() as f64 / 1000.0;
    let measured = json!({
        "wall_ms": wall.as_secs_f64() * 1000.0,
        "cpu_ms": milliseconds(usage.user_time()) + milliseconds(usage.system_time()),
        "peak_kib": usage.max_rss(),
        "code": status.code().unwrap_or(-1),
    });
    writeln!(io::stdout().lock(), "{measured}")?;
    Ok(())
}
