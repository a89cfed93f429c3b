//! From one approval of a whole plan until everything is applied, with the default cap.

use std::time::Instant;

use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_testkit::fleet::{self, FleetEdition, FleetForm, LARGEST_FILE_NODES};

use super::ServerReport;
use super::fixture::{Fixture, Repo};
use crate::{Outcome, say};

/// The default cap of open proposals.
const CAP: usize = 25;

/// Measures how long it takes.
pub(super) async fn measure(report: &mut ServerReport) -> Outcome<()> {
    say("approving a plan of 8,000 nodes as one");
    let fixture = Fixture::start(CAP).await?;
    let repo = Repo::new(&fixture, "fleet")?;
    repo.commit(&[fleet::one_file(LARGEST_FILE_NODES, FleetForm::List, FleetEdition::Previous)])?;
    let run = fixture.register(&repo, false).await?;
    let run_id = run["id"].as_str().ok_or("the run has no id")?.to_owned();
    let shown: Value = fixture.client.call(Operation::RunShow, &[&run_id]).send().await?;
    let whole = &shown["sync_run"]["sets"][0];
    let begun = Instant::now();
    let body = json!({"digest": whole["digest"]});
    let approved: Value = fixture.client.call(Operation::RunApprove, &[&run_id]).body(&body).send().await?;
    let note = format!("{} changes, one request", approved["count"]);
    report.add("approve a plan of 8,000 nodes as one", begun.elapsed(), note);
    fixture.until("the run is applied", |run| run["status"] == "applied").await?;
    let note = format!("{} changes, {CAP} open at a time, until the run says applied", approved["count"]);
    report.add("8,000 approved nodes, from click to applied", begun.elapsed(), note);
    fixture.stop().await
}
