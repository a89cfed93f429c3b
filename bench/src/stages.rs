//! Table A: each stage inside one process.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_core::accepted::{Accepted, Owner};
use windlass_core::desired::Desired;
use windlass_core::diff::compare;
use windlass_core::manifest::{
    FileManifest, FileRole, ReadCache, ReadContext, SourceFile, assemble, read_file,
};
use windlass_core::plan::{self, MassDestroyConfirmation, Plan};
use windlass_testkit::fleet::ACCOUNT;

use crate::Outcome;
use crate::case::{Case, sources};
use crate::sample::Sample;

/// The measurements of one fleet.
#[derive(Debug, Serialize)]
pub(crate) struct StageRow {
    pub(crate) fleet: &'static str,
    pub(crate) files: usize,
    pub(crate) bytes: usize,
    pub(crate) resources: usize,
    /// The number of changes compared with the previous version.
    pub(crate) changes: usize,
    /// Bytes to declarations: parse, decode, digest.
    pub(crate) read: Sample,
    /// Declarations to a checked fleet.
    pub(crate) assemble: Sample,
    /// Compare and plan with an empty accepted state.
    pub(crate) plan_all: Sample,
    /// Compare and plan with the previous version accepted.
    pub(crate) plan_few: Sample,
    /// The full plan as the text of `--format json`.
    pub(crate) print_all: Sample,
    /// Bytes to the full plan, without a cache.
    pub(crate) cold: Sample,
    /// Bytes to the plan of few changes, with all files cached.
    pub(crate) known: Sample,
}

/// One run of every stage.
#[derive(Default)]
struct Times {
    read: Vec<Duration>,
    assemble: Vec<Duration>,
    plan_all: Vec<Duration>,
    plan_few: Vec<Duration>,
    print_all: Vec<Duration>,
    cold: Vec<Duration>,
    known: Vec<Duration>,
}

/// Measures one fleet.
pub(crate) fn measure(case: &Case, asked: usize) -> Outcome<StageRow> {
    let files = sources(&case.current);
    let previous = ReadCache::default().read_once(&sources(&case.previous), &ReadContext::offline());
    let mut memo = ReadCache::default();
    let fleet = memo.read(&files, &ReadContext::offline());
    if let Some(problem) = fleet.diagnostics.first().or(previous.diagnostics.first()) {
        return Err(format!("the fleet of {} has a problem: {}", case.name, problem.message).into());
    }
    let accepted = Accepted::from_desired(&previous.desired, &owner());
    let mut times = Times::default();
    for _ in 0..case.runs(asked) {
        times.run_stages(&files, &accepted);
        times.run_whole(&files, &accepted, &mut memo);
    }
    Ok(StageRow {
        fleet: case.name,
        files: files.len(),
        bytes: case.bytes(),
        resources: fleet.desired.resources.len(),
        changes: plan_against(&fleet.desired, &accepted).steps.len(),
        read: Sample::of(times.read),
        assemble: Sample::of(times.assemble),
        plan_all: Sample::of(times.plan_all),
        plan_few: Sample::of(times.plan_few),
        print_all: Sample::of(times.print_all),
        cold: Sample::of(times.cold),
        known: Sample::of(times.known),
    })
}

impl Times {
    fn run_stages(&mut self, files: &[SourceFile], accepted: &Accepted) {
        let context = ReadContext::offline();
        let manifests = timed(&mut self.read, || read_all(files));
        let fleet = timed(&mut self.assemble, || assemble(manifests, &context));
        let plan = timed(&mut self.plan_all, || plan_against(&fleet.desired, &Accepted::default()));
        timed(&mut self.plan_few, || plan_against(&fleet.desired, accepted));
        timed(&mut self.print_all, || {
            serde_json::to_vec_pretty(&plan.document()).expect("a plan is plain values")
        });
    }

    fn run_whole(&mut self, files: &[SourceFile], accepted: &Accepted, memo: &mut ReadCache) {
        timed(&mut self.cold, || {
            let fleet = ReadCache::default().read_once(files, &ReadContext::offline());
            let plan = plan_against(&fleet.desired, &Accepted::default());
            (fleet, plan)
        });
        let context = ReadContext::offline();
        timed(&mut self.known, || {
            let fleet = memo.read(files, &context);
            plan_against(&fleet.desired, accepted)
        });
    }
}

/// Measures one call. Its result is dropped outside of the measurement.
fn timed<T>(times: &mut Vec<Duration>, run: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let made = black_box(run());
    times.push(started.elapsed());
    made
}

fn read_all(files: &[SourceFile]) -> Vec<Arc<FileManifest>> {
    let role = |index| if index == 0 { FileRole::Root } else { FileRole::Included };
    let read = |(index, file): (usize, &SourceFile)| read_file(&file.path, &file.bytes, role(index));
    files.iter().enumerate().map(read).map(Arc::new).collect()
}

fn plan_against(desired: &Desired, accepted: &Accepted) -> Plan {
    plan::build(desired, compare(desired, accepted, &owner()), MassDestroyConfirmation::Missing)
}

fn owner() -> Owner {
    Owner::Repository(ACCOUNT.to_owned())
}
