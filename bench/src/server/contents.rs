//! Syncs of a repository whose resources name 20,000 files: their content is part of the comparison.

use windlass_testkit::fleet::{ACCOUNT, FleetText};

use super::fixture::{Fixture, Repo};
use super::{ServerReport, best, took};
use crate::sample::Sample;
use crate::{Outcome, say};

/// The number of modules, and of bundles.
const RESOURCES: usize = 100;

/// The number of files that each of them names.
const FILES_EACH: usize = 100;

/// Measures syncs: the first, one without changes, and one with a changed file.
pub(super) async fn measure(report: &mut ServerReport) -> Outcome<()> {
    say("syncs of a repository with 20,000 content files");
    let fixture = Fixture::start(25).await?;
    let repo = Repo::new(&fixture, "fleet")?;
    let files = repository();
    repo.commit(&files)?;
    let run = fixture.register(&repo, false).await?;
    let cold = fixture.cold_syncs(&repo, took(&run)?).await?;
    let median = Sample::of(cold.clone()).median_ms;
    let note = format!("fetch, read, compare, propose 25 of {}; median {median:.1}", 2 * RESOURCES);
    report.add("sync, 20,000 content files, cold", best(&cold), note);
    let mut unchanged = Vec::new();
    for _ in 0..15 {
        unchanged.push(took(&fixture.sync(&repo).await?)?);
    }
    let note = format!("median {:.1}", Sample::of(unchanged.clone()).median_ms);
    report.add("sync, 20,000 content files, nothing new in git", best(&unchanged), note);
    let mut changed = Vec::new();
    for round in 0..5 {
        repo.commit(&[content(&module_file(0, 0), &format!("changed in round {round}\n"))])?;
        changed.push(took(&fixture.sync(&repo).await?)?);
    }
    let note = format!("median {:.1}", Sample::of(changed.clone()).median_ms);
    report.add("sync, 20,000 content files, one of them changed", best(&changed), note);
    fixture.stop().await
}

/// A fleet of modules that name files one by one, and of bundles that name directories.
pub(super) fn repository() -> Vec<FleetText> {
    let include = format!("version: 1\naccount: {ACCOUNT}\ninclude: [\"fleet.d/*.yaml\"]\n");
    let mut files = vec![content("fleet.yaml", &include)];
    let mut bundles = String::from("bundles:\n");
    for number in 0..RESOURCES {
        files.push(content(&format!("fleet.d/module-{number:03}.yaml"), &module(number)));
        bundles.push_str(&format!("  - {{name: app-{number:03}, path: apps/{number:03}, targets: []}}\n"));
        for file in 0..FILES_EACH {
            files.push(content(&module_file(number, file), &format!("module {number} file {file}\n")));
            let path = format!("apps/{number:03}/object-{file:03}.yaml");
            files.push(content(&path, &format!("kind: ConfigMap\nname: {number}-{file}\n")));
        }
    }
    files.push(content("fleet.d/bundles.yaml", &bundles));
    files
}

fn module(number: usize) -> String {
    let mut text =
        format!("modules:\n  - name: module-{number:03}\n    version: 1.0.0\n    host:\n      files:\n");
    for file in 0..FILES_EACH {
        let source = module_file(number, file);
        text.push_str(&format!("        /etc/m{number:03}/{file:03}.conf: {{source: {source}}}\n"));
    }
    text
}

fn module_file(module: usize, file: usize) -> String {
    format!("files/{module:03}/{file:03}.conf")
}

fn content(path: &str, text: &str) -> FleetText {
    FleetText { path: path.to_owned(), text: text.to_owned() }
}
