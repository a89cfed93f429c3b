//! Content offline: a changed file is a change of the resources that name it, in every view of a plan.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::{stderr, stdout};
use windlass_testkit::servers::WorkTree;

const FLEET: &str = "version: 1
account: acme
modules:
  - name: web
    version: 1.0.0
    host:
      files:
        /etc/nginx.conf: {source: files/nginx.conf}
  - name: proxy
    version: 1.0.0
    host:
      files:
        /etc/nginx.conf: {source: files/nginx.conf}
  - name: plain
    version: 1.0.0
bundles:
  - {name: app, path: apps/app, targets: []}
  - name: chart
    chart: {repository: https://charts.example.com, name: c, version: 1.0.0, values_files: [values/prod.yaml]}
    targets: []
";

fn fleet() -> WorkTree {
    let work = WorkTree::new();
    work.commit("files/nginx.conf", "worker_processes 4;\nuser www;\n");
    work.commit("apps/app/base/deep/deployment.yaml", "kind: Deployment\nreplicas: 2\n");
    work.commit("apps/app/base/other.yaml", "kind: Service\n");
    work.commit("values/prod.yaml", "replicaCount: 2\ndb_password: planted-1\n");
    work.commit("fleet.yaml", FLEET);
    work
}

fn plan(directory: &Path, format: &str) -> (i32, String) {
    let path = directory.to_str().unwrap();
    let output = support::command(&["plan", path, "--from", "HEAD", "--format", format])
        .env("COLUMNS", "200")
        .output()
        .unwrap();
    (output.status.code().unwrap(), stdout(&output) + &stderr(&output))
}

/// The names of the resources that a plan changes.
fn changed(work: &WorkTree) -> Vec<String> {
    let (_, text) = plan(work.path(), "json");
    let plan: Value = serde_json::from_str(&text).unwrap();
    let steps = plan["steps"].as_array().unwrap();
    steps
        .iter()
        .map(|step| format!("{} {}", step["action"].as_str().unwrap(), step["name"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_changed_file_is_a_change_of_exactly_what_names_it() {
    let work = fleet();
    assert_eq!(plan(work.path(), "human").0, 0, "a directory and the commit that it is say the same");
    for (path, text, expected) in [
        (
            "files/nginx.conf",
            "worker_processes 5;\nuser www;\n",
            vec!["update_module proxy", "update_module web"],
        ),
        ("apps/app/base/deep/deployment.yaml", "kind: Deployment\nreplicas: 3\n", vec!["update_bundle app"]),
        ("values/prod.yaml", "replicaCount: 3\ndb_password: planted-1\n", vec!["update_bundle chart"]),
        ("files/unused.conf", "x", vec![]),
    ] {
        fs::write(work.path().join(path), text).unwrap();
        assert_eq!(changed(&work), expected, "{path}");
        work.git(&["add", "--all"]);
        work.git(&["commit", "--quiet", "--message", "next"]);
    }
    fs::remove_file(work.path().join("apps/app/base/other.yaml")).unwrap();
    assert_eq!(changed(&work), ["update_bundle app"], "a file less is another directory");
}

#[test]
fn every_view_shows_the_lines_that_differ_once_and_no_secret() {
    let work = fleet();
    fs::write(work.path().join("files/nginx.conf"), "worker_processes 5;\nuser www;\n").unwrap();
    fs::write(work.path().join("values/prod.yaml"), "replicaCount: 2\ndb_password: planted-2\n").unwrap();
    fs::write(work.path().join("apps/app/new.bin"), b"\0\x01").unwrap();
    for format in ["human", "json", "markdown"] {
        let (code, text) = plan(work.path(), format);
        assert_eq!(code, 2, "{text}");
        assert_eq!(
            text.matches("-worker_processes 4;").count(),
            1,
            "{format}: one group, one difference\n{text}"
        );
        assert_eq!(text.matches("+worker_processes 5;").count(), 1, "{format}: {text}");
        assert!(text.contains("apps/app/new.bin") && text.contains("it is binary"), "{format}: {text}");
        assert!(!text.contains("planted"), "{format}: {text}");
    }
    let (_, text) = plan(work.path(), "human");
    assert!(text.contains("~ modules proxy, web"), "{text}");
    assert!(text.contains("changed file files/nginx.conf (30 → 30 bytes)"), "{text}");
    let (_, text) = plan(work.path(), "json");
    let plan: Value = serde_json::from_str(&text).unwrap();
    let app = plan["steps"].as_array().unwrap().iter().find(|step| step["name"] == "app").unwrap();
    let field = &app["fields"][0];
    assert_eq!(field["path"], "content[\"apps/app\"]", "{field}");
    assert!(field["before"].as_str().unwrap().starts_with("tree:"));
    assert_eq!(plan["content"].as_array().unwrap().len(), 3);
}

#[test]
fn a_new_resource_shows_the_files_it_brings() {
    let work = fleet();
    let more =
        FLEET.replace("  - {name: app,", "  - {name: extra, path: extra, targets: []}\n  - {name: app,");
    fs::write(work.path().join("fleet.yaml"), more).unwrap();
    fs::create_dir(work.path().join("extra")).unwrap();
    fs::write(work.path().join("extra/cm.yaml"), "kind: ConfigMap\n").unwrap();
    let (code, text) = plan(work.path(), "human");
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("+ bundle extra") && text.contains("new file extra/cm.yaml"), "{text}");
    assert!(text.contains("+kind: ConfigMap"), "{text}");
}
