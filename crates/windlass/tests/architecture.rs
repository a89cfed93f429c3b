//! The rules of ARCHITECTURE.md that the compiler cannot check.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::Value;
use support::project_root;

/// The crates of the workspace that each may depend on, except in tests.
const MAY_USE: &[(&str, &[&str])] = &[
    ("windlass-core", &[]),
    ("windlass-outbound", &["windlass-core"]),
    ("windlass-agent", &["windlass-api", "windlass-core"]),
    ("windlass-source", &["windlass-core", "windlass-outbound"]),
    ("windlass-api", &["windlass-core"]),
    ("windlass-secrets", &["windlass-core", "windlass-outbound"]),
    ("windlass-forge", &["windlass-core", "windlass-outbound"]),
    ("windlass-notify", &["windlass-core", "windlass-outbound"]),
    ("windlass-store", &["windlass-core"]),
    ("windlass-oidc", &["windlass-core", "windlass-outbound"]),
    (
        "windlass-control",
        &[
            "windlass-api",
            "windlass-core",
            "windlass-forge",
            "windlass-notify",
            "windlass-outbound",
            "windlass-secrets",
            "windlass-source",
            "windlass-store",
        ],
    ),
    (
        "windlass-server",
        &[
            "windlass-api",
            "windlass-control",
            "windlass-core",
            "windlass-mcp",
            "windlass-notify",
            "windlass-oidc",
            "windlass-outbound",
            "windlass-secrets",
            "windlass-source",
            "windlass-store",
            "windlass-web",
        ],
    ),
    ("windlass-mcp", &["windlass-api", "windlass-core"]),
    ("windlass-web", &["windlass-api", "windlass-core"]),
    (
        "windlass",
        &[
            "windlass-agent",
            "windlass-api",
            "windlass-core",
            "windlass-mcp",
            "windlass-server",
            "windlass-source",
            "windlass-store",
        ],
    ),
    ("windlass-testkit", &["windlass-core"]),
    ("windlass-bench", &["windlass-agent", "windlass-api", "windlass-core", "windlass-testkit"]),
];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(project_root())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_crates_depend_only_on_what_the_table_allows() {
    let table: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let allowed = table.get(name).unwrap_or_else(|| panic!("{name} is not in the table"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = dependency["name"].as_str().unwrap();
            let is_ours = used.starts_with("windlass");
            let is_normal = dependency["kind"].is_null();
            assert!(!is_ours || !is_normal || allowed.contains(&used), "{name} may not use {used}");
        }
    }
}

#[test]
fn the_core_depends_on_nothing_that_touches_the_world() {
    let metadata = metadata();
    let core =
        metadata["packages"].as_array().unwrap().iter().find(|package| package["name"] == "windlass-core");
    let used: BTreeSet<&str> = core.unwrap()["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|dependency| dependency["kind"].is_null())
        .map(|dependency| dependency["name"].as_str().unwrap())
        .collect();
    let allowed = BTreeSet::from([
        "blake3",
        "globset",
        "granit-parser",
        "imara-diff",
        "ipnet",
        "jiff",
        "regex-automata",
        "serde",
        "serde_json",
        "sha2",
        "strsim",
        "thiserror",
        "zeroize",
    ]);
    assert_eq!(used, allowed, "a new dependency of the core needs a reason in ARCHITECTURE.md");
}

#[test]
fn no_source_file_is_longer_than_600_lines() {
    let output = Command::new("git").args(["ls-files", "*.rs"]).current_dir(project_root()).output().unwrap();
    let files = String::from_utf8(output.stdout).unwrap();
    assert!(files.lines().count() > 20, "git tells which files are ours");
    for file in files.lines() {
        let lines = fs::read_to_string(project_root().join(file)).unwrap_or_default().lines().count();
        assert!(lines <= 600, "{file} has {lines} lines: would two files read better?");
    }
}

#[test]
fn half_of_the_source_files_have_fewer_than_200_lines() {
    let output = Command::new("git")
        .args(["ls-files", "crates/*/src/*.rs"])
        .current_dir(project_root())
        .output()
        .unwrap();
    let files = String::from_utf8(output.stdout).unwrap();
    let lines = |file| fs::read_to_string(project_root().join(file)).unwrap_or_default().lines().count();
    let mut lengths: Vec<usize> = files.lines().map(lines).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median < 200, "half of the source files have {median} lines or more");
}

#[test]
fn only_one_module_uses_each_wrapped_library() {
    for (word, home) in [
        ("granit_parser", "crates/windlass-core/src/yaml/"),
        ("gix::", "crates/windlass-source/src/git/"),
        ("rmcp::", "crates/windlass-mcp/src/protocol/"),
    ] {
        let output = Command::new("git")
            .args(["grep", "-l", word, "--", "crates/*/src/*.rs"])
            .current_dir(project_root())
            .output()
            .unwrap();
        for file in String::from_utf8(output.stdout).unwrap().lines() {
            assert!(file.starts_with(home), "{file} uses {word}");
        }
    }
}

fn architecture() -> String {
    fs::read_to_string(project_root().join("ARCHITECTURE.md")).unwrap()
}

/// What a part of the page says, up to the next one of the same rank.
fn section<'t>(text: &'t str, title: &str) -> &'t str {
    let rank = title.split(' ').next().unwrap();
    let after = text.split(&format!("\n{title}\n")).nth(1).unwrap_or_else(|| panic!("there is no {title}"));
    after.split(&format!("\n{rank} ")).next().unwrap()
}

#[test]
fn the_table_of_crates_equals_the_checked_table() {
    let text = architecture();
    let table = section(&text, "### May depend on");
    for (name, used) in MAY_USE {
        let row = table.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("add {name} to \"May depend on\" in ARCHITECTURE.md"));
        let written = quoted(row.split(" | ").nth(1).unwrap());
        assert_eq!(written, *used, "{name} in \"May depend on\" of ARCHITECTURE.md, and in `MAY_USE` here");
    }
}

/// The modules that a file declares, tests aside.
fn declared_modules(source: &str) -> BTreeSet<&str> {
    let lines =
        source.lines().filter_map(|line| line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod "));
    lines.filter_map(|line| line.strip_suffix(';')).collect()
}

#[test]
fn every_module_of_the_core_is_in_the_table() {
    let text = architecture();
    let table = text.split("| Module | What it does |").nth(1).unwrap().split("\n\n").next().unwrap();
    let rows = table.lines().skip(2).map(|row| row.split(" | ").next().unwrap());
    let listed: BTreeSet<&str> = rows.flat_map(quoted).collect();
    let source = fs::read_to_string(project_root().join("crates/windlass-core/src/lib.rs")).unwrap();
    let declared = declared_modules(&source);
    assert!(declared.len() > 40, "{declared:?}");
    let missing: Vec<_> = declared.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&declared).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "the table of modules in ARCHITECTURE.md lacks {missing:?} and has {gone:?}, which is no module of the core"
    );
}

/// The invariants, each with its number.
fn invariants(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for line in section(text, "## Invariants").lines() {
        let number = line.split_once(". **").and_then(|(number, _)| number.parse().ok());
        match (number, found.last_mut()) {
            (Some(number), _) => found.push((number, line.to_owned())),
            (None, Some((_, told))) if line.starts_with(' ') => {
                told.push(' ');
                told.push_str(line.trim());
            }
            _ => {}
        }
    }
    found
}

#[test]
fn invariants_are_numbered_in_one_sequence() {
    let text = architecture();
    let found = invariants(&text);
    assert!(found.len() > 100);
    for ((number, told), expected) in found.iter().zip(1..) {
        assert_eq!(*number, expected, "after {} comes {expected}: {told}", expected - 1);
    }
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

fn source(file: &String) -> String {
    fs::read_to_string(project_root().join(file)).unwrap_or_default()
}

/// The files that an invariant means: `core/src/event.rs` and `event.rs` both stand for one below `crates/windlass-core`.
fn files_meant<'f>(files: &'f [String], name: &str) -> Vec<&'f String> {
    let meant = |file: &&String| {
        let before = match name.ends_with('/') {
            true => file.find(name).map(|at| &file[..at]),
            false => file.strip_suffix(name),
        };
        before.is_some_and(|before| before.is_empty() || before.ends_with(['/', '-']))
    };
    files.iter().filter(meant).collect()
}

#[test]
fn every_test_that_guards_an_invariant_is_in_the_file_that_is_named() {
    let files = files();
    let is_name = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let text = architecture();
    for (number, told) in invariants(&text) {
        let guards = told.rsplit_once(" — ").unwrap_or_else(|| panic!("what guards invariant {number}?")).1;
        let mut texts: Vec<String> = Vec::new();
        for word in quoted(guards) {
            if word.contains('/') || word.ends_with(".rs") || word.ends_with(".toml") {
                let meant = files_meant(&files, word);
                assert!(!meant.is_empty(), "invariant {number} names {word}, which does not exist");
                texts = meant.into_iter().map(source).collect();
            } else if word.matches('_').count() >= 2 && is_name(word) {
                let is_there = texts.iter().any(|text| text.contains(&format!("fn {word}(")));
                assert!(
                    is_there,
                    "invariant {number} names the test {word}, which is not in the file before it"
                );
            }
        }
    }
}

/// Crates in which an id is of a type of its own, the type of its noun.
const TYPED_IDS: [&str; 4] = ["windlass-core", "windlass-store", "windlass-control", "windlass-server"];

/// Ids that are text in these crates: the end of the file's path, the name, and the reason.
const TEXT_IDS: &[(&str, &str, &str)] = &[
    (".rs", "request_id", "whoever asks may choose what a request is called"),
    ("windlass-server/src/http/guard.rs", "id", "the id of a request"),
    (
        "windlass-core/src/resource/template.rs",
        "node_platform_id",
        "fleet.yaml names what another system calls so",
    ),
    ("windlass-core/src/schema.rs", "id", "the address of a JSON schema"),
    ("windlass-control/src/flow/sync/pretend.rs", "id", "git's id of a commit"),
];

/// Source text without comments and without what is for tests alone.
fn code_of(text: &str) -> impl Iterator<Item = &str> {
    let text =
        text.split("#[cfg(test)]\nmod ").next().unwrap().split("#[cfg(test)]\npub(crate) mod tests").next();
    text.unwrap().lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// The names of ids in a line that are declared as bare text, alone, borrowed, optional or several.
fn text_ids(line: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let declared = line.match_indices(": ").filter_map(|(at, _)| {
        let start = line[..at].rfind(|c| !is_word(c)).map_or(0, |before| before + 1);
        let (name, mut shape) = (&line[start..at], &line[at + 2..]);
        while let Some(inner) =
            ["&", "mut ", "Option<", "Vec<", "BTreeSet<", "[", "impl Into<", "impl Iterator<Item = "]
                .iter()
                .find_map(|wrapper| shape.strip_prefix(wrapper))
                .or_else(|| shape.strip_prefix('\'')?.split_once(' ').map(|(_, inner)| inner))
        {
            shape = inner;
        }
        let rest = shape.strip_prefix("String").or_else(|| shape.strip_prefix("str"))?;
        let is_type = !rest.starts_with(is_word) && !rest.starts_with("::");
        let is_id = ["id", "ids"].iter().any(|id| name == *id || name.ends_with(&format!("_{id}")));
        (is_type && is_id).then_some(name)
    });
    declared.collect()
}

#[test]
fn ids_declared_as_text_are_found_by_name_and_type() {
    for line in [
        "fn find(account_id: &str) {",
        "    pub id: String,",
        "    pub(crate) run_id: Option<&'r str>,",
        "    proposal_ids: &[&str],",
        "    ids: Vec<String>,",
        "|id: &str| id.len()",
    ] {
        assert_eq!(text_ids(line).len(), 1, "{line}");
    }
    for line in [
        "fn find(account_id: &AccountId, id_or_name: &str) {",
        "        request_id: String::new(),",
        "    pub paid: String,",
        "    ids: &BTreeMap<String, RepositoryId>,",
    ] {
        assert_eq!(text_ids(line), [""; 0], "{line}");
    }
}

#[test]
fn every_id_in_a_signature_or_field_has_the_type_of_its_noun() {
    let sources = TYPED_IDS.map(|name| format!("crates/{name}/src/*.rs"));
    let listed =
        Command::new("git").arg("ls-files").args(&sources).current_dir(project_root()).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let is_test = |file: &&str| {
        ["/tests", "_tests.rs", "/made_up.rs", "/gate_machine/"].iter().any(|it| file.contains(it))
    };
    let mut used = BTreeSet::new();
    for file in listed.lines().filter(|file| !is_test(file)) {
        let text = fs::read_to_string(project_root().join(file)).unwrap_or_default();
        for line in code_of(&text) {
            for name in text_ids(line) {
                let reason = TEXT_IDS.iter().position(|(path, id, _)| file.ends_with(path) && *id == name);
                assert!(reason.is_some(), "{file}: `{name}` is bare text: {}", line.trim());
                used.extend(reason);
            }
        }
    }
    assert_eq!(used.len(), TEXT_IDS.len(), "an exception that nothing needs is taken out");
}

/// Words in backticks that look like the name of a test: several words joined by `_`.
fn named_tests(text: &str) -> Vec<&str> {
    let is_name = |word: &&str| {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        word.matches('_').count() >= 3 && word.chars().all(is_letter)
    };
    quoted(text).into_iter().filter(is_name).collect()
}

#[test]
fn every_test_that_guards_an_invariant_exists() {
    let text = architecture();
    let names = named_tests(&text);
    assert!(names.len() > 20, "the invariants name their tests");
    let sources: String = files().iter().filter(|file| file.ends_with(".rs")).map(source).collect();
    for name in names {
        let is_there = sources.contains(&format!("fn {name}("));
        assert!(is_there, "ARCHITECTURE.md names the test {name}, which does not exist");
    }
}

/// The texts between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_table_from_a_webhook_to_drift_names_existing_functions() {
    let text = architecture();
    let section = section(&text, "### From a webhook to drift").split("\n## ").next().unwrap();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 10, "{rows:?}");
    let read = |krate: &str, file: &str| {
        let path = project_root().join("crates").join(krate).join("src").join(file);
        fs::read_to_string(&path).unwrap_or_else(|_| panic!("the walk names {}", path.display()))
    };
    for row in rows {
        let cells: Vec<&str> = row.split(" | ").collect();
        let hops = quoted(cells[1]);
        assert!(!hops.is_empty() && hops.len().is_multiple_of(2), "a file and a function each: {row}");
        for hop in hops.chunks(2) {
            let function = format!("fn {}(", hop[1]);
            assert!(read("windlass-control", hop[0]).contains(&function), "{}: {function}", hop[0]);
        }
        for file in quoted(cells[2]) {
            read("windlass-core", file);
        }
    }
}
