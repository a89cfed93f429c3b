//! Every kind is shown in the example, and documented with what it refers to.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use windlass_core::manifest::{FileRole, Fleet, ReadContext, assemble, read_file};
use windlass_core::resource::Kind;

use crate::support::{run, stdout};
use crate::{cells, read};

const SEE: &str = "(ARCHITECTURE.md, How to add a kind)";

/// What people call one of a kind, and many.
fn names(kind: Kind) -> (String, String) {
    let name = |word: &str| word.replace("virtual_ip", "virtual IP").replace('_', " ");
    (name(kind.slug()), name(kind.plural()))
}

fn example() -> Fleet {
    let file =
        |name: &str, role| Arc::new(read_file(name, read(&format!("examples/edge/{name}")).as_bytes(), role));
    let included =
        ["fleet.d/clusters.yaml", "fleet.d/network.yaml"].map(|name| file(name, FileRole::Included));
    let files = [file("fleet.yaml", FileRole::Root)].into_iter().chain(included).collect();
    assemble(files, &ReadContext::offline())
}

#[test]
fn the_example_has_every_kind() {
    let resources = example().desired.resources;
    for kind in Kind::ALL {
        let is_shown = resources.of_kind(*kind).next().is_some();
        assert!(is_shown, "declare a {kind} in examples/edge {SEE}");
    }
}

/// Which kind refers to which, as the table of the page says.
fn documented_references() -> Vec<(String, Vec<String>)> {
    let page = read("docs/concepts/references-and-order.md");
    let table = page.split("## References by kind").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for row in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells = cells(row);
        if !cells[0].is_empty() {
            rows.push((cells[0].to_owned(), Vec::new()));
        }
        let targets = cells[1].split(", ").filter(|target| *target != "–").map(str::to_owned);
        rows.last_mut().unwrap().1.extend(targets);
    }
    rows
}

#[test]
fn the_page_on_references_has_every_kind_in_order() {
    let page = "docs/concepts/references-and-order.md";
    let documented: Vec<String> = documented_references().into_iter().map(|(kind, _)| kind).collect();
    let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.slug()).collect();
    assert_eq!(
        documented, known,
        "the first table of {page} has a row for each kind, in the order of `kinds!` {SEE}"
    );
    let plurals: Vec<String> = Kind::ALL.iter().map(|kind| names(*kind).1).collect();
    let order = plurals.join(", ");
    let text = read(page).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&order), "{page} tells another order than `kinds!`: write {order} {SEE}");
}

#[test]
fn the_example_has_exactly_the_documented_references() {
    let fleet = example();
    let mut found: BTreeSet<(String, String)> = BTreeSet::new();
    for (kind, name, declared) in fleet.desired.resources.iter() {
        declared.spec.references(name, &mut |reference| {
            found.insert((kind.to_string(), reference.kind.to_string()));
        });
    }
    let documented: BTreeSet<(String, String)> = documented_references()
        .into_iter()
        .flat_map(|(kind, targets)| targets.into_iter().map(move |target| (kind.clone(), target)))
        .collect();
    assert_eq!(
        found, documented,
        "on the left what examples/edge refers to, on the right what docs/concepts/references-and-order.md says {SEE}"
    );
}

#[test]
fn the_glossary_has_every_kind() {
    let glossary = read("docs/glossary.md");
    let row = glossary.lines().find(|line| line.starts_with("| **kind**")).unwrap();
    let list: Vec<&str> = Kind::ALL.iter().map(|kind| kind.slug()).collect();
    let list = list.join(", ");
    assert!(
        row.ends_with(&format!("{list} |")),
        "**kind** in docs/glossary.md lists others: write {list} {SEE}"
    );
    for kind in Kind::ALL {
        let (name, _) = names(*kind);
        let is_there = glossary.contains(&format!("\n| **{name}** "));
        assert!(is_there, "add a row **{name}** to docs/glossary.md {SEE}");
    }
}

#[test]
fn the_page_on_fleet_yaml_shows_every_section() {
    let schema: Value = serde_json::from_str(&stdout(&run(&["schema"]))).unwrap();
    let page = read("docs/concepts/fleet-yaml.md");
    let first = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    for section in schema["properties"].as_object().unwrap().keys().filter(|key| *key != "include") {
        let is_shown = first.lines().any(|line| line.starts_with(&format!("{section}:")));
        assert!(is_shown, "add `{section}` to the first block of docs/concepts/fleet-yaml.md {SEE}");
    }
}
