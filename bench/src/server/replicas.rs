//! Two replicas on one PostgreSQL: how soon one sees what the other wrote, and how long work waits for one that was killed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::noun::Noun;
use windlass_testkit::fleet::ACCOUNT;
use windlass_testkit::servers::Postgres;

use super::fixture::{Fixture, Repo, ServerOptions};
use super::{ServerReport, load};
use crate::{Outcome, say};

/// Changes made on one replica and seen on the other.
const CHANGES: usize = 20;

/// Replicas killed in the middle of a sync.
const KILLS: usize = 5;

/// Far longer than a fetch takes to begin.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How often the bench looks whether a fetch has begun; git says so by a file.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Measures both, if PostgreSQL is installed.
pub(super) async fn measure(report: &mut ServerReport) -> Outcome<()> {
    say("two replicas on PostgreSQL");
    let Some(postgres) = Postgres::start() else { return Ok(()) };
    changes_seen(report, postgres.fresh_database()).await?;
    let mut undisturbed = Vec::with_capacity(KILLS);
    let mut taken_over = Vec::with_capacity(KILLS);
    for _ in 0..KILLS {
        undisturbed.push(stalled_sync(postgres.fresh_database(), Holder::Lives).await?);
        taken_over.push(stalled_sync(postgres.fresh_database(), Holder::IsKilled).await?);
    }
    let slowest = |times: &[Duration]| load::percentile(times, 100).as_secs_f64() * 1000.0;
    let note = |times: &[Duration]| format!("median of {KILLS}; slowest {:.1}", slowest(times));
    report.add(
        "sync that was held up, on a replica that lives",
        load::percentile(&undisturbed, 50),
        note(&undisturbed),
    );
    report.add(
        "the same, after its replica was killed",
        load::percentile(&taken_over, 50),
        note(&taken_over),
    );
    Ok(())
}

/// From a request to one replica until the other's event stream has delivered it.
async fn changes_seen(report: &mut ServerReport, database: String) -> Outcome<()> {
    let options = ServerOptions { cap: 25, database: Some(database), programs: None, agents: None };
    let writer = Fixture::start_with(&options).await?;
    let reader = writer.replica(&options)?;
    let mut times = Vec::with_capacity(CHANGES);
    for number in 0..CHANGES {
        let name = format!("seen-{number:02}");
        let mut events = reader.happenings().await?;
        let begun = Instant::now();
        let operation = Operation::Resource(Noun::NodeTemplate, ResourceVerb::Create);
        let body = json!({"name": name, "node_platform": "ubuntu-24.04-amd64"});
        let _: Value = writer.client.call(operation, &[]).body(&body).send().await?;
        events.until_delivered(&name).await?;
        times.push(begun.elapsed());
    }
    let p95 = load::percentile(&times, 95).as_secs_f64() * 1000.0;
    let note =
        format!("median of {CHANGES}; 95th percentile {p95:.1}; request to event on the other replica");
    report.add("change on one replica, seen on the other", load::percentile(&times, 50), note);
    Ok(())
}

/// What becomes of the replica that holds the lease of a sync.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    Lives,
    IsKilled,
}

/// How long a sync takes from the moment its fetch can go on, if the replica that fetches lives or is killed then.
async fn stalled_sync(database: String, holder: Holder) -> Outcome<Duration> {
    let stall = StalledGit::new()?;
    let programs = Some(stall.programs());
    let options = ServerOptions { cap: 25, database: Some(database), programs, agents: None };
    let mut first = Some(Fixture::start_with(&options).await?);
    let fixture = first.as_ref().ok_or("no server")?;
    let mut second = Some(fixture.replica(&options)?);
    let repo = Repo::new_in(stall.directory.path(), "fleet")?;
    repo.commit_text("fleet.yaml", &format!("version: 1\naccount: {ACCOUNT}\nclusters:\n  c1: {{}}\n"))?;
    fixture.add_repository(&repo, false).await?;
    let fetching = stall.until_fetched().await?;
    let is_first = fetching == fixture.process_id();
    let begun = Instant::now();
    if holder == Holder::IsKilled {
        drop(if is_first { first.take() } else { second.take() });
    }
    stall.release()?;
    let survivor = first.as_ref().or(second.as_ref()).ok_or("no server is left")?;
    survivor.until("the run has ended", |run| run["completed_at"].is_string()).await?;
    Ok(begun.elapsed())
}

/// A `git` that begins to serve a repository only when it is released, and says which server asked for it.
struct StalledGit {
    directory: TempDir,
}

impl StalledGit {
    fn new() -> Outcome<StalledGit> {
        let directory = tempfile::tempdir()?;
        let bin = directory.path().join("bin");
        std::fs::create_dir(&bin)?;
        std::fs::write(directory.path().join("stall"), "")?;
        let root = directory.path().display();
        let script = format!(
            "#!/bin/sh\nPATH=${{PATH#*:}}\nif [ \"$1\" = upload-pack ] && [ -e {root}/stall ]; then\n  \
             echo $PPID > {root}/asked.new; mv {root}/asked.new {root}/asked\n  \
             while [ -e {root}/stall ]; do sleep 0.01; done\nfi\nexec git \"$@\"\n"
        );
        let program = bin.join("git");
        std::fs::write(&program, script)?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        Ok(StalledGit { directory })
    }

    fn programs(&self) -> PathBuf {
        self.directory.path().join("bin")
    }

    /// Waits until a server fetches; its process.
    async fn until_fetched(&self) -> Outcome<u32> {
        let asked: &Path = &self.directory.path().join("asked");
        let deadline = Instant::now() + TIMEOUT;
        while !asked.exists() {
            if Instant::now() > deadline {
                return Err("no server fetched".into());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(std::fs::read_to_string(asked)?.trim().parse()?)
    }

    fn release(&self) -> Outcome<()> {
        Ok(std::fs::remove_file(self.directory.path().join("stall"))?)
    }
}
