//! Measures the server: syncing, applying, listing, responses under load, and memory.

pub(crate) mod agents;
mod approvals;
mod contents;
mod fixture;
mod hooks;
mod load;
mod memory;
mod replicas;

use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::noun::Noun;
use windlass_testkit::fleet::{self, FleetEdition, FleetForm, LARGEST_FILE_NODES};

use crate::sample::Sample;
use crate::table::Table;
use crate::{Outcome, say};
use agents::AgentsReport;
use fixture::{Fixture, Repo};
use memory::MemoryRow;

/// Proposals approved and applied at once.
const APPLIED: usize = 1_000;

/// Open proposals for the pages of reviewers.
const OPEN: usize = 2_000;

/// Resources for list pages and load.
const LISTED: usize = 50_000;

/// One measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    what: &'static str,
    ms: f64,
    note: String,
}

/// All measurements of the server.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ServerReport {
    figures: Vec<Figure>,
    memory_kib: Vec<(String, u64)>,
    memory_of_input: Vec<MemoryRow>,
    agents: AgentsReport,
}

impl ServerReport {
    /// Adds a measurement and prints it at once: a later part may take long, or fail.
    fn add(&mut self, what: &'static str, time: Duration, note: impl Into<String>) {
        let figure = Figure { what, ms: time.as_secs_f64() * 1000.0, note: note.into() };
        say(&format!("  {what}: {:.1} ms", figure.ms));
        self.figures.push(figure);
    }

    fn add_memory(&mut self, when: &str, fixture: &Fixture) -> Outcome<()> {
        let kib = fixture.resident_kib()?;
        say(&format!("  memory {when}: {:.1} MiB", kib as f64 / 1024.0));
        self.memory_kib.push((when.to_owned(), kib));
        Ok(())
    }

    fn add_growth(&mut self, row: MemoryRow) {
        say(&format!("  {}: {:.1} bytes for each byte", row.what, row.per_byte()));
        self.memory_of_input.push(row);
    }

    pub(crate) fn text(&self) -> String {
        let mut times = Table::new(&["what", "ms", "note"]);
        for figure in &self.figures {
            times.row(vec![figure.what.to_owned(), format!("{:.1}", figure.ms), figure.note.clone()]);
        }
        let mut memory = Table::new(&["resident memory", "MiB"]);
        for (when, kib) in &self.memory_kib {
            memory.row(vec![when.clone(), format!("{:.1}", *kib as f64 / 1024.0)]);
        }
        let mut inputs = Table::new(&["input", "bytes", "peak growth, MiB", "bytes for each byte"]);
        for row in &self.memory_of_input {
            let growth = format!("{:.1}", row.growth_kib as f64 / 1024.0);
            inputs.row(vec![
                row.what.to_owned(),
                row.input_bytes.to_string(),
                growth,
                format!("{:.1}", row.per_byte()),
            ]);
        }
        format!("{}\n{}\n{}{}", times.text(), memory.text(), inputs.text(), self.agents.text())
    }
}

/// The parts of the server benchmark.
pub(crate) const PARTS: [&str; 10] = [
    "hooks",
    "syncs",
    "contents",
    "applies",
    "approvals",
    "reviews",
    "lists",
    "replicas",
    "memory",
    "agents",
];

/// Measures a server on the embedded database, and replicas on PostgreSQL: all parts, or one.
pub(crate) fn measure(only: Option<&str>, agents: &[usize]) -> Outcome<ServerReport> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let mut report = ServerReport::default();
        for part in PARTS.into_iter().filter(|part| only.is_none_or(|only| only == *part)) {
            match part {
                "hooks" => hooks::measure(&mut report).await?,
                "syncs" => syncs(&mut report).await?,
                "contents" => contents::measure(&mut report).await?,
                "applies" => applies(&mut report).await?,
                "approvals" => approvals::measure(&mut report).await?,
                "reviews" => reviews(&mut report).await?,
                "lists" => lists(&mut report).await?,
                "replicas" => replicas::measure(&mut report).await?,
                "memory" => memory::measure(&mut report).await?,
                _ => agents::measure(&mut report.agents, agents).await?,
            }
        }
        Ok(report)
    })
}

async fn syncs(report: &mut ServerReport) -> Outcome<()> {
    say("syncs of 8,000 nodes");
    let fixture = Fixture::start(25).await?;
    report.add_memory("at rest, empty", &fixture)?;
    let repo = Repo::new(&fixture, "fleet")?;
    repo.commit(&[fleet::one_file(LARGEST_FILE_NODES, FleetForm::List, FleetEdition::Previous)])?;
    let run = fixture.register(&repo, false).await?;
    let (cloned, fetched) = repo.by_git_alone()?;
    let cold = fixture.cold_syncs(&repo, took(&run)?).await?;
    let ratio = times(best(&cold), cloned, "git clone");
    let median = Sample::of(cold.clone()).median_ms;
    let note = format!("fetch, read, compare, store 11,221, propose 25; median {median:.1}; {ratio}");
    report.add("sync, 8,000 nodes, cold", best(&cold), note);
    let mut unchanged = Vec::new();
    for _ in 0..15 {
        unchanged.push(took(&fixture.sync(&repo).await?)?);
    }
    let ratio = times(best(&unchanged), fetched, "git fetch");
    let median = Sample::of(unchanged.clone()).median_ms;
    let note = format!("11,196 wait for their turn; median {median:.1}; {ratio}");
    report.add("sync, 8,000 nodes, nothing new in git", best(&unchanged), note);
    report.add("git clone --depth 1, the same repository", cloned, "git alone, into an empty directory");
    report.add("git fetch, the same repository, nothing new", fetched, "git alone");
    let mut changed = Vec::new();
    for _ in 0..5 {
        for edition in [FleetEdition::Current, FleetEdition::Previous] {
            repo.commit(&[fleet::one_file(LARGEST_FILE_NODES, FleetForm::List, edition)])?;
            changed.push(took(&fixture.sync(&repo).await?)?);
        }
    }
    let median = Sample::of(changed.clone()).median_ms;
    let note = format!("fetch one commit, read, compare, store what changed; median {median:.1}");
    report.add("sync, one node in a hundred changed", best(&changed), note);
    report.add_memory("after syncs of 8,000 nodes", &fixture)?;
    fixture.stop().await
}

fn best(times: &[Duration]) -> Duration {
    times.iter().min().copied().unwrap_or_default()
}

/// A time compared with that of git alone.
fn times(ours: Duration, theirs: Duration, what: &str) -> String {
    format!("{:.1} × {what} alone", ours.as_secs_f64() / theirs.as_secs_f64())
}

/// The duration of a run, by the server's clock.
fn took(run: &Value) -> Outcome<Duration> {
    if run["status"] == "failed" {
        return Err(format!("the run failed: {}", run["error"]).into());
    }
    let moment = |name: &str| run[name].as_str().and_then(windlass_core::time::Timestamp::parse);
    match (moment("started_at"), moment("completed_at")) {
        (Some(begun), Some(ended)) => Ok(ended.elapsed_since(begun)),
        _ => Err("the run did not end in time".into()),
    }
}

async fn applies(report: &mut ServerReport) -> Outcome<()> {
    say("applying 1,000 proposals");
    let fixture = Fixture::start(APPLIED).await?;
    let repo = Repo::new(&fixture, "fleet")?;
    repo.commit(&fleet::spread(APPLIED, FleetForm::List, FleetEdition::Current))?;
    let run = fixture.register(&repo, false).await?;
    let run_id = run["id"].as_str().ok_or("the run has no id")?.to_owned();
    let begun = Instant::now();
    let body = json!({"decision": "approve", "approval_request_id": run_id});
    let approved: Value = fixture.client.call(Operation::ProposalBatch, &[]).body(&body).send().await?;
    report.add(
        "approve 1,000 in one request",
        begun.elapsed(),
        format!("{} done, each on the record", approved["done"]),
    );
    fixture.until("the run is applied", |run| run["status"] == "applied").await?;
    report.add("approve and apply 1,000", begun.elapsed(), "until the run says applied");
    fixture.stop().await
}

/// The pages that reviewers use.
async fn reviews(report: &mut ServerReport) -> Outcome<()> {
    say("pages with 2,000 open proposals");
    let fixture = Fixture::start(OPEN).await?;
    let repo = Repo::new(&fixture, "fleet")?;
    repo.commit(&fleet::spread(OPEN, FleetForm::List, FleetEdition::Current))?;
    let run = fixture.register(&repo, false).await?;
    let run_id = run["id"].as_str().ok_or("the run has no id")?;
    page(report, &fixture, "page: approvals, 2,000 open", "/app/approvals").await?;
    page(report, &fixture, "page: approvals, searched", "/app/approvals?q=7").await?;
    page(report, &fixture, "page: the run of 2,000", &format!("/app/runs/{run_id}")).await?;
    page(report, &fixture, "page: overview", "/app").await?;
    fixture.stop().await
}

async fn page(report: &mut ServerReport, fixture: &Fixture, what: &'static str, path: &str) -> Outcome<()> {
    let (took, bytes) = fixture.page(path, 50).await?;
    let median = load::percentile(&took, 50).as_secs_f64() * 1000.0;
    report.add(
        what,
        load::percentile(&took, 95),
        format!("95th percentile of 50; median {median:.1}; {bytes} bytes"),
    );
    Ok(())
}

async fn lists(report: &mut ServerReport) -> Outcome<()> {
    say("50,000 resources: sync, apply, lists, load");
    let fixture = Fixture::start(100_000).await?;
    let repo = Repo::new(&fixture, "fleet")?;
    repo.commit(&fleet::spread(LISTED, FleetForm::List, FleetEdition::Current))?;
    let begun = Instant::now();
    let run = fixture.register(&repo, true).await?;
    report.add("sync of 50,000, all proposed at once", took(&run)?, "auto_apply, no cap");
    fixture.until("the run is applied", |run| run["status"] == "applied").await?;
    report.add("sync and apply 50,000", begun.elapsed(), "until the run says applied");
    let mut pages = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..200 {
        let begun = Instant::now();
        let page: Value = fixture
            .client
            .call(Operation::Resource(Noun::Node, ResourceVerb::List), &[])
            .query("limit", "100")
            .query_if("cursor", cursor.as_deref())
            .send()
            .await?;
        pages.push(begun.elapsed());
        cursor = page["meta"]["next_cursor"].as_str().map(str::to_owned);
    }
    report.add("list page of 100 nodes, median", load::percentile(&pages, 50), "200 pages by cursor");
    report.add("list page of 100 nodes, 95th percentile", load::percentile(&pages, 95), "");
    page(report, &fixture, "page: resources, 50,000 rows", "/app/resources/nodes").await?;
    page(report, &fixture, "page: resources, searched", "/app/resources/nodes?q=777").await?;
    page(report, &fixture, "page: resources of every kind", "/app/resources").await?;
    let mut searches = Vec::new();
    for number in 0..50 {
        let begun = Instant::now();
        let call = fixture.client.call(Operation::Resource(Noun::Node, ResourceVerb::List), &[]);
        let _: Value = call.query("q", format!("{number}7")).send().await?;
        searches.push(begun.elapsed());
    }
    report.add(
        "search by part of a name, 95th percentile",
        load::percentile(&searches, 95),
        "among all nodes",
    );
    let mut unchanged = Vec::new();
    for _ in 0..5 {
        unchanged.push(took(&fixture.sync(&repo).await?)?);
    }
    report.add("sync of 50,000, unchanged and applied", best(&unchanged), "");
    let calls = load::run(&fixture.client, 8, 500).await?;
    let each = format!("{} calls by 8 at once: lists, single resources, status, runs", calls.len());
    report.add("API call under load, median", load::percentile(&calls, 50), each);
    report.add("API call under load, 95th percentile", load::percentile(&calls, 95), "");
    report.add_memory("with 50,000 resources, after all this", &fixture)?;
    fixture.stop().await
}
