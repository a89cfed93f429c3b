//! Prometheus metrics: each one is documented and each documented one exists; dashboard and alerts use no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_api::endpoint::Operation;
use windlass_core::shape::{Decoder, Shape as _};
use windlass_core::yaml;

use crate::fleet::{nodes, register, repository_with};
use crate::installation::Installation;

fn project_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The labels of every metric in the scraped text, without those that histograms add.
fn scraped(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let histograms: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" histogram")).collect();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let series = line.rsplit_once(' ').unwrap().0;
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let name = base.filter(|base| histograms.contains(base)).unwrap_or(name);
        let labels = labels.trim_end_matches('}').split("\",").filter(|label| !label.is_empty());
        let labels = labels.map(|label| label.split('=').next().unwrap().to_owned());
        found.entry(name.to_owned()).or_default().extend(labels.filter(|label| label != "le"));
    }
    found
}

/// The same from the reference page.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = fs::read_to_string(project_root().join("docs/reference/metrics.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `windlass_"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert!(cells[4].len() > 10, "what does it mean? {row}");
        let labels = cells[3].split(',').map(|label| label.trim().trim_matches('`').to_owned());
        (cells[1].trim_matches('`').to_owned(), labels.filter(|label| !label.is_empty()).collect())
    })
    .collect()
}

/// Every metric name in a text.
fn names_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("windlass_")).map(str::to_owned).collect()
}

#[test]
fn every_metric_is_documented_and_every_documented_metric_is_reported() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let work = repository_with(&nodes("web", "planted-node", 0..2));
    let repository = register(&server.api, "planted-repository", &work);
    server.api.apply_all(&repository.id).unwrap();
    let text = server.api.text(server.api.call(Operation::Metrics, &[])).unwrap();
    assert_eq!(
        scraped(&text),
        documented(),
        "told on the left, documented on the right; a new one needs a start in `start_recording` if this sync does not cause it \
         (ARCHITECTURE.md, How to add a metric): {text}"
    );
    assert!(!text.contains("planted"), "no label is a name that people chose: {text}");
    for line in text.lines().filter(|line| line.starts_with("windlass_http_request_seconds_bucket")) {
        assert!(line.contains("le=\""), "{line}");
    }
}

#[test]
fn the_dashboard_and_the_alerts_use_existing_metrics() {
    let known = documented();
    let directory = project_root().join("docs/grafana");
    let dashboard = fs::read_to_string(directory.join("windlass.json")).unwrap();
    let alerts = fs::read_to_string(directory.join("alerts.yaml")).unwrap();
    for (file, text) in [("windlass.json", &dashboard), ("alerts.yaml", &alerts)] {
        let used = names_in(text);
        assert!(used.len() > 5, "{file}: {used:?}");
        for name in used {
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            assert!(known.contains_key(base.unwrap_or(&name)), "{file} uses {name}, which nobody tells");
        }
    }
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    let shown: BTreeSet<String> = panels.iter().flat_map(|panel| names_in(&panel.to_string())).collect();
    for name in known.keys() {
        let is_shown = shown.iter().any(|used| used.starts_with(name.as_str()));
        assert!(
            is_shown || name == "windlass_build_info",
            "{name} is on no panel of docs/grafana/windlass.json"
        );
    }
    for panel in panels {
        let place = &panel["gridPos"];
        assert!(place["x"].as_u64().unwrap() + place["w"].as_u64().unwrap() <= 24, "{panel}");
        assert!(!panel["targets"].as_array().unwrap().is_empty(), "{panel}");
    }
    let (tree, findings) = yaml::parse(&alerts);
    let tree = tree.unwrap_or_else(|| panic!("{findings:?}"));
    let alerts = Value::decode(tree.root(), &mut Decoder::default()).unwrap();
    for rule in alerts["groups"][0]["rules"].as_array().unwrap() {
        for place in ["/alert", "/expr", "/labels/severity", "/annotations/summary", "/annotations/action"] {
            assert!(
                rule.pointer(place).is_some_and(|it| it.as_str().is_some_and(|it| !it.is_empty())),
                "{rule}"
            );
        }
    }
}

#[test]
fn metrics_are_named_in_one_place() {
    let crates = project_root().join("crates");
    let mut directories = vec![crates.join("windlass-control/src"), crates.join("windlass-server/src")];
    while let Some(directory) = directories.pop() {
        for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            let is_the_place = path.file_name().is_some_and(|name| name == "metrics.rs");
            if path.is_dir() {
                directories.push(path);
            } else if !is_the_place {
                let text = fs::read_to_string(&path).unwrap();
                let names = ["metrics::counter!", "metrics::gauge!", "metrics::histogram!"];
                assert!(!names.iter().any(|name| text.contains(name)), "{}", path.display());
            }
        }
    }
}
