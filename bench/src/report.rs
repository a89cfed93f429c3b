//! All measurements as one value: tables and JSON are views of it.

use std::thread::available_parallelism;

use serde::Serialize;

use crate::case::Case;
use crate::loaders::{self, Found, LoaderRow};
use crate::processes::{self, ProcessRow};
use crate::stages::{self, StageRow};
use crate::{Outcome, say};

/// Index of the largest single file among [`Case::sizes`].
const LARGEST_FILE: usize = 2;

/// All measurements.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) cores: usize,
    /// The requested number of runs.
    pub(crate) runs: usize,
    pub(crate) stages: Vec<StageRow>,
    pub(crate) growth: Vec<GrowthRow>,
    pub(crate) processes: Vec<ProcessRow>,
    pub(crate) loaders: Vec<LoaderRow>,
    pub(crate) ratios: Vec<RatioRow>,
}

/// How times grow from one size to the next: the ratio of best times divided by the ratio of bytes. 1.0 is linear.
#[derive(Debug, Serialize)]
pub(crate) struct GrowthRow {
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) bytes_ratio: f64,
    pub(crate) read: f64,
    pub(crate) assemble: f64,
    pub(crate) plan_all: f64,
    pub(crate) cold: f64,
    pub(crate) known: f64,
}

/// How a loader compares with Windlass: above 1.0 the loader is slower.
#[derive(Debug, Serialize)]
pub(crate) struct RatioRow {
    pub(crate) loader: &'static str,
    /// Compared with reading, checking, comparing and planning in process, without a cache.
    pub(crate) of_cold: f64,
    /// Compared with the whole `windlass plan` process from nothing, printing included.
    pub(crate) of_process: f64,
}

impl Report {
    /// Measures everything.
    pub(crate) fn measure(runs: usize) -> Outcome<Report> {
        let mut cases = Case::sizes();
        say("measuring the stages");
        let mut stages = Vec::new();
        for case in &cases {
            stages.push(stages::measure(case, runs)?);
        }
        let growth = stages.windows(2).map(|pair| GrowthRow::between(&pair[0], &pair[1])).collect();
        let maps = Case::largest_as_maps();
        stages.push(stages::measure(&maps, runs)?);
        cases.push(maps);
        let processes = processes::measure(&cases, runs)?;
        say("measuring other loaders");
        let loaders = loaders::measure(&cases[LARGEST_FILE])?;
        let ratios = ratios(&loaders, &stages[LARGEST_FILE], &processes);
        let cores = available_parallelism().map_or(1, usize::from);
        Ok(Report { cores, runs, stages, growth, processes, loaders, ratios })
    }
}

impl GrowthRow {
    fn between(small: &StageRow, large: &StageRow) -> GrowthRow {
        let bytes_ratio = large.bytes as f64 / small.bytes as f64;
        let factor = |time: fn(&StageRow) -> f64| time(large) / time(small) / bytes_ratio;
        GrowthRow {
            from: small.fleet,
            to: large.fleet,
            bytes_ratio,
            read: factor(|row| row.read.best_ms),
            assemble: factor(|row| row.assemble.best_ms),
            plan_all: factor(|row| row.plan_all.best_ms),
            cold: factor(|row| row.cold.best_ms),
            known: factor(|row| row.known.best_ms),
        }
    }
}

fn ratios(loaders: &[LoaderRow], stages: &StageRow, processes: &[ProcessRow]) -> Vec<RatioRow> {
    let process = processes.iter().find(|row| row.fleet == stages.fleet && row.from == "nothing");
    let process_ms = process.map_or(f64::NAN, |row| row.wall.best_ms);
    let ratio = |row: &LoaderRow| match row.found {
        Found::Loaded { load_ms, .. } => Some(RatioRow {
            loader: row.loader,
            of_cold: load_ms / stages.cold.best_ms,
            of_process: load_ms / process_ms,
        }),
        Found::Skipped { .. } => None,
    };
    loaders.iter().filter_map(ratio).collect()
}
