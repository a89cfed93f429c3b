//! The real agent on one host: what it costs to apply a module beside `ansible-playbook`, and what it costs at rest.

mod ansible;
mod at_rest;
mod module;

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::sample::Sample;
use crate::table::Table;
use crate::{Outcome, binary, child, say};

pub(super) use at_rest::AgentAtRest;

/// Runs of each kind.
const RUNS: usize = 5;

/// Runs of Ansible, which takes seconds.
const ANSIBLE_RUNS: usize = 3;

/// One way to apply the module.
#[derive(Debug, Serialize)]
pub(super) struct ApplyRow {
    tool: String,
    run: &'static str,
    wall: Sample,
    cpu: Sample,
    peak_kib: u64,
}

/// The measurements of one host.
#[derive(Debug, Serialize)]
pub(super) struct OneHost {
    rows: Vec<ApplyRow>,
    at_rest: AgentAtRest,
}

/// Measures both.
pub(super) async fn measure() -> Outcome<OneHost> {
    say("one host: windlass-agent and ansible-playbook");
    let agent = binary::windlass_agent()?;
    let input = tempfile::tempdir()?;
    let mut rows = windlass_rows(&agent, input.path())?;
    if let Some(ansible) = ansible::find()? {
        rows.extend(ansible_rows(&ansible, input.path())?);
    }
    Ok(OneHost { rows, at_rest: at_rest::measure(&agent).await? })
}

fn windlass_rows(agent: &Path, input: &Path) -> Outcome<Vec<ApplyRow>> {
    module::write_for_windlass(input)?;
    let (document, packages) = (text(&input.join("document.json"))?, text(&input.join("packages"))?);
    rows("windlass-agent apply", agent, RUNS, |root| {
        let fixed = ["apply", "--document", &document, "--packages", &packages, "--root", root];
        fixed.map(str::to_owned).to_vec()
    })
}

fn ansible_rows(ansible: &ansible::Ansible, input: &Path) -> Outcome<Vec<ApplyRow>> {
    module::write_for_ansible(input)?;
    let (playbook, python) = (text(&input.join("playbook.yaml"))?, text(&ansible.python)?);
    let name = format!("ansible-playbook {}", ansible.version);
    rows(&name, &ansible.playbook, ANSIBLE_RUNS, |root| {
        let variables = format!("root={root} ansible_python_interpreter={python}");
        let fixed = ["--connection=local", "--inventory=localhost,", "--extra-vars", &variables, &playbook];
        fixed.map(str::to_owned).to_vec()
    })
}

/// Measures runs on new roots, and one more on each that changes nothing.
fn rows(
    tool: &str,
    program: &Path,
    runs: usize,
    arguments: impl Fn(&str) -> Vec<String>,
) -> Outcome<Vec<ApplyRow>> {
    let (mut cold, mut unchanged) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let root = tempfile::tempdir()?;
        let arguments = arguments(&text(root.path())?);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        for measured in [&mut cold, &mut unchanged] {
            measured.push(child::run(program, &arguments)?);
        }
        if !root.path().join("srv/site/d00/template.conf").exists() {
            return Err(format!("{tool} did not write the module").into());
        }
    }
    let mut rows = Vec::new();
    for (run, measured) in [("cold", cold), ("no change", unchanged)] {
        if let Some(failed) = measured.iter().find(|measured| measured.code != 0) {
            return Err(format!("{tool} ended with {}", failed.code).into());
        }
        let sample = |ms: fn(&child::Measured) -> f64| {
            Sample::of(measured.iter().map(|one| Duration::from_secs_f64(ms(one) / 1000.0)).collect())
        };
        let (wall, cpu) = (sample(|one| one.wall_ms), sample(|one| one.cpu_ms));
        say(&format!("  {tool}, {run}: {:.0} ms, CPU {:.0} ms", wall.best_ms, cpu.best_ms));
        let peak_kib = measured.iter().map(|one| one.peak_kib).max().unwrap_or_default();
        rows.push(ApplyRow { tool: tool.to_owned(), run, wall, cpu, peak_kib });
    }
    Ok(rows)
}

fn text(path: &Path) -> Outcome<String> {
    Ok(path.to_str().ok_or("a path is not UTF-8")?.to_owned())
}

impl OneHost {
    pub(super) fn text(&self) -> String {
        let heading = format!("a module of {} items, ms (best / median)", module::ITEMS);
        let mut table =
            Table::new(&[&heading, "run", "wall", "CPU", "peak, MiB", "wall × ours", "CPU × ours"]);
        for row in &self.rows {
            let ours = self.rows.iter().find(|other| other.run == row.run).unwrap_or(row);
            let both = |sample: Sample| format!("{:.1} / {:.1}", sample.best_ms, sample.median_ms);
            table.row(vec![
                row.tool.clone(),
                row.run.to_owned(),
                both(row.wall),
                both(row.cpu),
                format!("{:.1}", row.peak_kib as f64 / 1024.0),
                format!("{:.0}", row.wall.best_ms / ours.wall.best_ms),
                format!("{:.0}", row.cpu.best_ms / ours.cpu.best_ms),
            ]);
        }
        format!("{}\n{}", table.text(), self.at_rest.text())
    }
}
