//! The real agent with a real server: the size of its binary, its memory, and the CPU time of a cycle without changes.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use windlass_api::endpoint::Operation;

use super::super::fan_out::approve;
use super::super::fleet;
use super::super::usage::{CpuMark, memory_kib};
use crate::server::fixture::{Fixture, Repo, ServerOptions};
use crate::table::Table;
use crate::{Outcome, say};

/// How often the agent looks at its host: as often as it may.
const INTERVAL: Duration = Duration::from_secs(5);

/// How many cycles are measured.
const CYCLES: u32 = 12;

/// How long the agent gets to apply the module; and how long it then rests before it is measured.
const APPLIED_WITHIN: Duration = Duration::from_secs(60);
const SETTLE: Duration = Duration::from_secs(15);

/// How often the bench looks whether the module is applied.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What the agent costs.
#[derive(Debug, Serialize)]
pub(in super::super) struct AgentAtRest {
    stripped_bytes: u64,
    rest_kib: u64,
    cycle_cpu_ms: f64,
}

impl AgentAtRest {
    pub(super) fn text(&self) -> String {
        let mut table = Table::new(&["windlass-agent", "measured", "aim"]);
        let mib = |bytes: f64| format!("{:.1} MiB", bytes / 1024.0 / 1024.0);
        let mut row = |what: &str, measured: String, aim: &str| {
            table.row(vec![what.to_owned(), measured, aim.to_owned()]);
        };
        row("stripped binary", mib(self.stripped_bytes as f64), "< 15 MB");
        row("resident at rest", mib(self.rest_kib as f64 * 1024.0), "< 15 MB");
        row("CPU of a cycle without changes", format!("{:.1} ms", self.cycle_cpu_ms), "< 20 ms");
        table.text()
    }
}

/// A running agent. It ends when this is dropped.
struct RunningAgent(Child);

impl Drop for RunningAgent {
    fn drop(&mut self) {
        // The process may have exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Enrols an agent on a directory tree and measures it.
pub(super) async fn measure(program: &Path) -> Outcome<AgentAtRest> {
    let host = tempfile::tempdir()?;
    let stripped_bytes = stripped_size(program, host.path())?;
    let options = ServerOptions { cap: 25, database: None, programs: None, agents: Some(16) };
    let fixture = Fixture::start_with(&options).await?;
    let repo = Repo::new(&fixture, "fleet")?;
    repo.commit(&fleet::repository(1))?;
    let run = fixture.register(&repo, false).await?;
    approve(&fixture, &run).await?;
    fixture.until("the fleet is applied", |run| run["status"] == "applied").await?;
    let call = fixture.client.call(Operation::NodeEnroll, &[&fleet::node_name(0)]);
    let created: Value = call.body(&json!({})).send().await?;
    let key = created["key"].as_str().ok_or("the server made no key")?;
    let root = host.path().join("root");
    std::fs::create_dir(&root)?;
    let enrolled =
        Command::new(program).args(["enroll", key, "--root"]).arg(&root).stdout(Stdio::null()).status()?;
    if !enrolled.success() {
        return Err("the agent did not enrol".into());
    }
    let mut command = Command::new(program);
    command.args(["run", "--interval", &INTERVAL.as_secs().to_string(), "--root"]).arg(&root);
    let agent = RunningAgent(command.env("WINDLASS_LOG", "error").spawn()?);
    until_applied(&root).await?;
    tokio::time::sleep(SETTLE).await;
    let mark = CpuMark::now(agent.0.id())?;
    tokio::time::sleep(INTERVAL * CYCLES).await;
    let cycle_cpu_ms = mark.since()?.seconds * 1000.0 / f64::from(CYCLES);
    let rest_kib = memory_kib(agent.0.id(), "VmRSS")?;
    say(&format!("  agent: {rest_kib} KiB at rest, {cycle_cpu_ms:.1} ms CPU a cycle"));
    drop(agent);
    fixture.stop().await?;
    Ok(AgentAtRest { stripped_bytes, rest_kib, cycle_cpu_ms })
}

async fn until_applied(root: &Path) -> Outcome<()> {
    let deadline = Instant::now() + APPLIED_WITHIN;
    while !root.join("etc/site/release.txt").exists() {
        if Instant::now() > deadline {
            return Err("the agent did not apply its assignment".into());
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Ok(())
}

/// The size of the binary without symbols.
fn stripped_size(program: &Path, scratch: &Path) -> Outcome<u64> {
    let stripped = scratch.join("stripped");
    let status = Command::new("strip").arg("-o").arg(&stripped).arg(program).status();
    match status {
        Ok(status) if status.success() => Ok(std::fs::metadata(stripped)?.len()),
        _ => {
            say("  strip is not installed: the size is with symbols");
            Ok(std::fs::metadata(program)?.len())
        }
    }
}
