//! Table B: the command line as a user runs it, each time a new process.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use windlass_testkit::fleet::nothing;

use crate::case::{Case, write_files};
use crate::sample::Sample;
use crate::{Outcome, binary, child};

/// The exit code of `plan` when there are changes.
const CHANGES: i64 = 2;

/// The measurements of one command.
#[derive(Debug, Serialize)]
pub(crate) struct ProcessRow {
    pub(crate) fleet: &'static str,
    /// The accepted state of the plan.
    pub(crate) from: &'static str,
    pub(crate) wall: Sample,
    /// The largest peak of all runs.
    pub(crate) peak_kib: u64,
}

/// Measures `windlass plan` for each fleet, from nothing and from the previous version.
pub(crate) fn measure(cases: &[Case], asked: usize) -> Outcome<Vec<ProcessRow>> {
    let windlass = binary::windlass()?;
    let mut rows = Vec::new();
    for case in cases {
        let root = tempfile::tempdir()?;
        let [current, previous, empty] = ["current", "previous", "empty"].map(|name| root.path().join(name));
        write_files(&current, &case.current)?;
        write_files(&previous, &case.previous)?;
        write_files(&empty, &[nothing()])?;
        for (from, directory) in [("nothing", &empty), ("previous", &previous)] {
            let (wall, peak_kib) = plan(&windlass, [&current, directory], case.runs(asked))?;
            rows.push(ProcessRow { fleet: case.name, from, wall, peak_kib });
        }
    }
    Ok(rows)
}

fn plan(windlass: &Path, [current, from]: [&Path; 2], runs: usize) -> Outcome<(Sample, u64)> {
    let [current, from] = [current, from].map(|path| path.to_string_lossy());
    let arguments = ["plan", &current, "--from", &from, "--format", "json"];
    let mut times = Vec::new();
    let mut peak_kib = 0;
    for _ in 0..runs {
        let measured = child::run(windlass, &arguments)?;
        if measured.code != CHANGES {
            return Err(format!("windlass plan ended with {}, not with changes", measured.code).into());
        }
        times.push(Duration::from_secs_f64(measured.wall_ms / 1000.0));
        peak_kib = peak_kib.max(measured.peak_kib);
    }
    Ok((Sample::of(times), peak_kib))
}
