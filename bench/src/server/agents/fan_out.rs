//! One server with so many agents: they enrol, connect, rest, and get changes that somebody approves.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use windlass_api::endpoint::Operation;

use super::fleet;
use super::simulator::{Progress, Simulator, Stage, enroll_all};
use super::usage::{CpuMark, load_average, memory_kib};
use crate::server::fixture::{Fixture, Repo, ServerOptions};
use crate::server::load::percentile;
use crate::{Outcome, say};

/// Every change of the fleet is proposed at once.
const CAP: usize = 100_000;

/// Approved changes; the one with the median 99th percentile counts.
const ROUNDS: usize = 5;

/// How long the server is observed at rest: longer than its intervals of pings and contacts.
const REST: Duration = Duration::from_secs(30);

/// How long the server gets to finish what a change caused.
const SETTLE: Duration = Duration::from_secs(5);

/// Connections of agents besides one for each: enrolments, and streams that end.
const MORE_CONNECTIONS: usize = 256;

/// How long agents took to reach a stage, in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct StageTimes {
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) last: f64,
}

/// The measurements of one server.
#[derive(Debug, Serialize)]
pub(super) struct FanOutRow {
    pub(super) agents: usize,
    pub(super) database: &'static str,
    pub(super) load_before: String,
    pub(super) enrol_seconds: f64,
    pub(super) connect_seconds: f64,
    pub(super) rest_kib: u64,
    pub(super) rest_percent: f64,
    /// The assignment, the content, the report.
    pub(super) stages: [StageTimes; 3],
    pub(super) peak_kib: u64,
    pub(super) server_seconds: f64,
    pub(super) simulator_seconds: f64,
    pub(super) simulator_kib: u64,
}

impl FanOutRow {
    pub(super) fn name(&self) -> String {
        format!("{}, {}", self.agents, self.database)
    }
}

/// What one approved change cost.
#[derive(Clone, Debug)]
struct Round {
    stages: [StageTimes; 3],
    server_seconds: f64,
    simulator_seconds: f64,
}

/// Measures a server with so many agents on a database; the embedded one if none is named.
pub(super) async fn measure(
    agents: usize,
    database: &'static str,
    url: Option<String>,
) -> Outcome<FanOutRow> {
    say(&format!("{agents} agents, {database}"));
    let load_before = load_average();
    let options =
        ServerOptions { cap: CAP, database: url, programs: None, agents: Some(agents + MORE_CONNECTIONS) };
    let fixture = Fixture::start_with(&options).await?;
    let repo = Repo::new(&fixture, "fleet")?;
    repo.commit(&fleet::repository(agents))?;
    let run = fixture.register(&repo, false).await?;
    approve(&fixture, &run).await?;
    fixture.until("the fleet is applied", |run| run["status"] == "applied").await?;
    let key = enrolment_key(&fixture, agents).await?;
    let begun = Instant::now();
    let enrolled = enroll_all(&key, agents).await?;
    let enrol_seconds = begun.elapsed().as_secs_f64();
    say(&format!("  enrolled in {enrol_seconds:.1} s"));
    let begun = Instant::now();
    let mut simulator = Simulator::connect(enrolled);
    simulator.until_all_reported().await?;
    let connect_seconds = begun.elapsed().as_secs_f64();
    say(&format!("  connected in {connect_seconds:.1} s"));
    tokio::time::sleep(SETTLE).await;
    let resting = CpuMark::now(fixture.process_id())?;
    tokio::time::sleep(REST).await;
    let rest_percent = resting.since()?.percent;
    let rest_kib = fixture.memory_before()?;
    say(&format!("  at rest: {} MiB, {rest_percent:.1} % of a core", rest_kib / 1024));
    let mut rounds = Vec::with_capacity(ROUNDS);
    for number in 1..=ROUNDS {
        rounds.push(round(&fixture, &repo, &mut simulator, number).await?);
        tokio::time::sleep(SETTLE).await;
    }
    rounds.sort_by(|one, other| one.stages[0].p99.total_cmp(&other.stages[0].p99));
    let Round { stages, server_seconds, simulator_seconds } = rounds.swap_remove(ROUNDS / 2);
    let peak_kib = rest_kib + fixture.growth_since(rest_kib)?;
    let simulator_kib = memory_kib(std::process::id(), "VmRSS")?;
    drop(simulator);
    fixture.stop().await?;
    Ok(FanOutRow {
        agents,
        database,
        load_before,
        enrol_seconds,
        connect_seconds,
        rest_kib,
        rest_percent,
        stages,
        peak_kib,
        server_seconds,
        simulator_seconds,
        simulator_kib,
    })
}

/// Commits another content of the module, waits for the proposal, approves it, and waits for every agent.
async fn round(fixture: &Fixture, repo: &Repo, simulator: &mut Simulator, number: usize) -> Outcome<Round> {
    repo.commit(&[fleet::release(number)])?;
    let run = fixture.sync(repo).await?;
    let (server, own) = (CpuMark::now(fixture.process_id())?, CpuMark::now(std::process::id())?);
    let begun = Instant::now();
    approve(fixture, &run).await?;
    let approved = begun.elapsed();
    let reached = simulator.until_all_reported().await?;
    let (server, own) = (server.since()?, own.since()?);
    let stages = [Stage::HoldsAssignment, Stage::HoldsContent, Stage::Reported]
        .map(|stage| stage_times(&reached, stage, begun));
    let first = reached.iter().map(|progress| progress.at.duration_since(begun)).min().unwrap_or_default();
    say(&format!(
        "  round {number}: approved {:.2} s, first {:.2}, assignment p50 {:.2} p99 {:.2} last {:.2}, content p99 {:.2}, \
         reported last {:.2}; CPU server {:.1} s, simulator {:.1} s; load {}",
        approved.as_secs_f64(),
        first.as_secs_f64(),
        stages[0].p50,
        stages[0].p99,
        stages[0].last,
        stages[1].p99,
        stages[2].last,
        server.seconds,
        own.seconds,
        load_average()
    ));
    Ok(Round { stages, server_seconds: server.seconds, simulator_seconds: own.seconds })
}

fn stage_times(reached: &[Progress], stage: Stage, begun: Instant) -> StageTimes {
    let times: Vec<Duration> = reached
        .iter()
        .filter(|progress| progress.stage == stage)
        .map(|progress| progress.at.duration_since(begun))
        .collect();
    let seconds = |share| percentile(&times, share).as_secs_f64();
    StageTimes { p50: seconds(50), p99: seconds(99), last: seconds(100) }
}

/// Approves everything that a run proposes.
pub(super) async fn approve(fixture: &Fixture, run: &Value) -> Outcome<()> {
    let run_id = run["id"].as_str().ok_or("the run has no id")?;
    let shown: Value = fixture.client.call(Operation::RunShow, &[run_id]).send().await?;
    let body = json!({"digest": shown["sync_run"]["sets"][0]["digest"]});
    let _: Value = fixture.client.call(Operation::RunApprove, &[run_id]).body(&body).send().await?;
    Ok(())
}

/// A key with which all nodes enrol.
async fn enrolment_key(fixture: &Fixture, agents: usize) -> Outcome<String> {
    let body = json!({"selector": {"name": fleet::NODE_PATTERN}, "uses": agents});
    let created: Value =
        fixture.client.call(Operation::EnrollmentTokenCreate, &[]).body(&body).send().await?;
    Ok(created["key"].as_str().ok_or("the server made no key")?.to_owned())
}
