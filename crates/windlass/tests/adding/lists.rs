//! The "How to add …" lists themselves: whatever they name exists, and everything there is stands in every place they name.

use std::collections::BTreeMap;
use std::process::Command;

use windlass_api::endpoint::{Endpoint, Operation, endpoints};
use windlass_api::permission::Permission;
use windlass_core::code::Code;
use windlass_core::event::EventKind;
use windlass_core::resource::Kind;
use windlass_mcp::tools;
use windlass_web::table::pages;

use crate::support::project_root;
use crate::{has_word, quoted, read};

/// What people add, as the titles of the lists say.
const THINGS: &[&str] = &[
    "a command",
    "a field",
    "a kind",
    "a metric",
    "a migration",
    "a page",
    "a permission",
    "a problem code",
    "a state word",
    "a tool",
    "a type of host item",
    "a use case",
    "an endpoint",
    "an event kind",
];

/// The lists: what is added → the steps. That of pages stands beside their table.
fn lists() -> BTreeMap<String, String> {
    let text = read("ARCHITECTURE.md");
    let mut lists: BTreeMap<String, String> = text
        .split("\n## How to add ")
        .skip(1)
        .map(|section| {
            let (title, rest) = section.split_once('\n').unwrap();
            (title.to_owned(), rest.split("\n## ").next().unwrap().to_owned())
        })
        .collect();
    let page = read("crates/windlass-web/src/lib.rs");
    let page = page.split("# How to add a page").nth(1).unwrap().split("\n\n").next().unwrap();
    let steps: Vec<&str> = page.lines().map(|line| line.trim_start_matches("//!")).collect();
    lists.get_mut("a page").unwrap().push_str(&steps.join("\n"));
    lists
}

/// Every file that git knows or would add.
fn files() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(project_root())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The words of a list that are paths.
fn paths(steps: &str) -> impl Iterator<Item = &str> {
    let ends = [".rs", ".md", ".json", ".yaml", ".html", ".txt", "/"];
    quoted(steps).filter(move |word| {
        !word.contains([' ', '{']) && !word.contains("NNNN") && ends.iter().any(|end| word.ends_with(end))
    })
}

/// The file that a list names, by its path or by the end of it.
fn file_named<'f>(files: &'f [String], name: &str) -> Vec<&'f String> {
    let end = format!("/{name}");
    files.iter().filter(|file| *file == name || file.ends_with(&end)).collect()
}

#[test]
fn there_is_a_list_for_everything_that_is_added() {
    let lists = lists();
    let titles: Vec<&str> = lists.keys().map(String::as_str).collect();
    assert_eq!(titles, THINGS, "ARCHITECTURE.md has other lists than are checked here");
}

#[test]
fn every_file_macro_and_name_in_the_lists_exists() {
    let files = files();
    for (thing, steps) in lists() {
        for path in paths(&steps) {
            let is_there = match path.strip_suffix('/') {
                Some(directory) => project_root().join(directory).is_dir(),
                None => file_named(&files, path).len() == 1,
            };
            assert!(
                is_there,
                "How to add {thing} names `{path}`, which is not one file or directory of the project"
            );
        }
        for word in
            quoted(&steps).filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric() || "_!".contains(c)))
        {
            let pattern = match word.strip_suffix('!') {
                Some(name) => format!("macro_rules! {name}"),
                None => word.to_owned(),
            };
            let found = Command::new("git")
                .args(["grep", "-qwF", "--untracked", &pattern, "--", "*.rs"])
                .current_dir(project_root())
                .status()
                .unwrap();
            assert!(found.success(), "How to add {thing} names `{word}`, which is nowhere in the source");
        }
    }
}

/// One thing that is there: each way in which a place may spell it.
type Spellings = Vec<String>;

/// Everything that was added so far, for the lists whose every place has a line for each.
fn everything() -> BTreeMap<&'static str, Vec<Spellings>> {
    let kind = |kind: &Kind| {
        let (variant, slug) = (format!("{kind:?}"), kind.slug().to_owned());
        vec![format!("Kind::{variant}"), format!("Spec::{variant}"), format!("{variant}Spec"), slug]
    };
    let operation = |Endpoint { operation, .. }: Endpoint| match operation {
        Operation::Resource(..) => None,
        other => Some(vec![format!("{other:?}"), snake_case(&format!("{other:?}"))]),
    };
    let metrics = read("docs/reference/metrics.md");
    let metrics = metrics.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    BTreeMap::from([
        ("a kind", Kind::ALL.iter().map(kind).collect()),
        ("an endpoint", endpoints().into_iter().filter_map(operation).collect()),
        ("a page", pages().into_iter().map(|entry| vec![format!("{:?}", entry.page)]).collect()),
        ("a tool", tools().iter().map(|tool| vec![tool.name.to_owned()]).collect()),
        (
            "a permission",
            Permission::ALL.iter().map(|it| vec![format!("{it:?}"), it.slug().to_owned()]).collect(),
        ),
        (
            "a problem code",
            Code::ALL.iter().map(|it| vec![it.slug().to_owned(), format!("{it:?}")]).collect(),
        ),
        ("an event kind", EventKind::ALL.iter().map(|it| vec![it.slug().to_owned()]).collect()),
        ("a metric", metrics.map(|name| vec![name.to_owned()]).collect()),
    ])
}

fn snake_case(word: &str) -> String {
    let mut text = String::new();
    for c in word.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text
}

/// Places of the lists that have no line for each thing, and why.
const WITHOUT_A_LINE_EACH: &[(&str, &str)] = &[
    ("crates/windlass-control/src/outside/notify/link.rs", "few events lead to a page of their own"),
    ("crates/windlass-control/src/record.rs", "most events are made in one place"),
    ("crates/windlass-testkit/src/model.rs", "`the_model_generates_every_kind` follows it"),
    ("crates/windlass-web/src/lib.rs", "it holds the list of pages"),
    ("crates/windlass-web/src/frame.rs", "most pages are not in the navigation"),
    ("crates/windlass-web/templates/layout.html", "most pages are not in the navigation"),
    ("crates/windlass-web/tests/escaping.rs", "`every_page_has_a_hostile_model` follows it"),
    ("crates/windlass/tests/api/isolation.rs", "only what has an id of another thing than a repository"),
    (
        "crates/windlass/tests/broken.rs",
        "it reads the corpus, which `every_code_that_validate_can_report_is_in_the_table` follows",
    ),
    ("crates/windlass/tests/adding/words.rs", "only what no endpoint needs as a whole"),
    ("docs/concepts/events-and-audit.md", "`every_event_kind_is_documented` follows it"),
    ("docs/concepts/fleet-yaml.md", "`the_page_on_fleet_yaml_shows_every_section` follows it"),
    ("docs/grafana/windlass.json", "`the_dashboard_and_the_alerts_use_existing_metrics` follows it"),
    ("docs/guide/mcp.md", "it shows what tools are for"),
];

#[test]
fn everything_that_exists_is_in_every_place_that_its_list_names() {
    let (files, lists) = (files(), lists());
    let mut missing = Vec::new();
    for (thing, all) in everything() {
        assert!(all.len() > 5, "{thing}");
        for path in paths(&lists[thing]).filter(|path| !path.ends_with('/')) {
            let file = file_named(&files, path)[0];
            if WITHOUT_A_LINE_EACH.iter().any(|(excepted, _)| file == excepted) {
                continue;
            }
            let text = read(file);
            let is_missing =
                |spellings: &&Spellings| !spellings.iter().any(|spelling| has_word(&text, spelling));
            let untold = all.iter().filter(is_missing);
            missing.extend(
                untold.map(|spellings| format!("add {} to {file} (How to add {thing})", spellings[0])),
            );
        }
    }
    assert!(
        missing.is_empty(),
        "places that a list of ARCHITECTURE.md names are not done; where one has no line for each, name it in \
         `WITHOUT_A_LINE_EACH` with the reason:\n  {}",
        missing.join("\n  ")
    );
}

#[test]
fn exceptions_are_places_that_lists_name() {
    let (files, lists) = (files(), lists());
    let named: Vec<&String> =
        lists.values().flat_map(|steps| paths(steps)).flat_map(|path| file_named(&files, path)).collect();
    for (file, reason) in WITHOUT_A_LINE_EACH {
        assert!(
            named.iter().any(|named| named == file) && !reason.is_empty(),
            "no list names {file}: take it out"
        );
    }
}
