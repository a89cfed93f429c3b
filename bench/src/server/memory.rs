//! The memory that input costs compared with its size: fleets, trees and previews, ordinary and hostile ones.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_testkit::fleet::{self, ACCOUNT, FleetEdition, FleetForm, FleetText};
use windlass_testkit::servers::WorkTree;

use super::fixture::{Fixture, Repo};
use super::{ServerReport, contents};
use crate::{Outcome, say};

/// Just below the limit of one file.
const FILE_BYTES: usize = (1 << 20) - 64;

/// Files of the fleet that exceeds the limit: 62 MB.
const FILES: usize = 62;

/// The number of paths of a preview.
const PATHS: usize = 200_000;

/// The cost of one input.
#[derive(Debug, Serialize)]
pub(super) struct MemoryRow {
    pub(super) what: &'static str,
    pub(super) input_bytes: usize,
    /// How much the server's peak exceeded its memory before.
    pub(super) growth_kib: u64,
}

impl MemoryRow {
    pub(super) fn per_byte(&self) -> f64 {
        self.growth_kib as f64 * 1024.0 / self.input_bytes as f64
    }
}

/// Measures each input on a new server, so that none reuses memory of another.
pub(super) async fn measure(report: &mut ServerReport) -> Outcome<()> {
    say("memory for each byte of input");
    let plain = fleet::spread(50_000, FleetForm::List, FleetEdition::Current);
    synced(report, "fleet of 50,000 resources, synced", &plain, bytes_of(&plain)).await?;
    let dense = dense_fleet();
    synced(report, "fleet of 62 MB of nothing but brackets, refused", &dense, bytes_of(&dense)).await?;
    let many = contents::repository();
    synced(report, "tree of 20,000 content files, synced", &many, bytes_of(&many)).await?;
    let body = preview_body(&plain);
    previewed(report, "preview of a fleet of 50,000 resources", &body).await?;
    let paths: Vec<String> = (0..PATHS).map(|number| format!("p{number:x}")).collect();
    let body = json!({"files": {"fleet.yaml": fleet::nothing().text}, "paths": paths});
    previewed(report, "preview with 200,000 paths", &body).await?;
    previewed(report, "preview of 62 MB of brackets, refused", &preview_body(&dense)).await?;
    bomb(report).await
}

fn bytes_of(files: &[FleetText]) -> usize {
    files.iter().map(|file| file.text.len() + file.path.len()).sum()
}

/// The densest possible fleet: three bytes for each value.
fn dense_fleet() -> Vec<FleetText> {
    let mut files = vec![FleetText {
        path: "fleet.yaml".to_owned(),
        text: format!("version: 1\naccount: {ACCOUNT}\ninclude: [\"fleet.d/*.yaml\"]\n"),
    }];
    for number in 0..FILES {
        let mut text = String::from("nodes: [");
        while text.len() < FILE_BYTES {
            text.push_str("[],");
        }
        text.push_str("[]]\n");
        files.push(FleetText { path: format!("fleet.d/{number}.yaml"), text });
    }
    files
}

fn preview_body(files: &[FleetText]) -> Value {
    let files: serde_json::Map<String, Value> =
        files.iter().map(|file| (file.path.clone(), json!(file.text))).collect();
    json!({ "files": files })
}

/// Syncs files once.
async fn synced(
    report: &mut ServerReport,
    what: &'static str,
    files: &[FleetText],
    input_bytes: usize,
) -> Outcome<()> {
    let fixture = Fixture::start(25).await?;
    let repo = Repo::new(&fixture, "fleet")?;
    repo.commit(files)?;
    let before = fixture.memory_before()?;
    fixture.register(&repo, false).await?;
    report.add_growth(MemoryRow { what, input_bytes, growth_kib: fixture.growth_since(before)? });
    fixture.stop().await
}

/// Requests one preview of files.
async fn previewed(report: &mut ServerReport, what: &'static str, body: &Value) -> Outcome<()> {
    let fixture = Fixture::start(25).await?;
    let repo = Repo::new(&fixture, "fleet")?;
    repo.commit(&[fleet::nothing()])?;
    fixture.register(&repo, false).await?;
    let input_bytes = body.to_string().len();
    let before = fixture.memory_before()?;
    let call = fixture.client.call(Operation::PreviewCreate, &[&repo.name]).body(body);
    if let Err(refused) = call.send::<Value>().await {
        let mut told = String::new();
        write!(told, "{refused}")?;
        say(&format!("  {what}: {}", told.lines().next().unwrap_or_default()));
    }
    report.add_growth(MemoryRow { what, input_bytes, growth_kib: fixture.growth_since(before)? });
    fixture.stop().await
}

/// Ten levels of ten identical directories in about a kilobyte. Measured last, because earlier builds crash.
async fn bomb(report: &mut ServerReport) -> Outcome<()> {
    let fixture = Fixture::start(25).await?;
    let work = WorkTree::new();
    work.commit_path_bomb(10, 10);
    let before = fixture.memory_before()?;
    fixture.register_at("bomb", work.path()).await?;
    let what = "tree of 10^10 paths in a kilobyte, refused";
    report.add_growth(MemoryRow { what, input_bytes: 1024, growth_kib: fixture.growth_since(before)? });
    fixture.stop().await
}
