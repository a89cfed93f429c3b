//! Broken fleets: every kind of problem is reported with the right code at the right place, however hostile the file.
//!
//! `tests/broken/` has one small file or directory per case; [`generate`] creates those that are too large to store.
//! `tests/broken/expected.txt` is the table of all expected problems. A first line `# args: …` in a case gives
//! `windlass validate` further arguments.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod generate;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::thread;

use serde_json::Value;

use support::{Run, check_file, tests_path, windlass};

/// A problem as a row of the table.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    /// The case, and for a directory the file in it.
    file: String,
    /// In the order of the file.
    place: (u64, u64),
    severity: String,
    code: String,
    path: String,
}

#[test]
fn every_broken_fleet_is_told_as_the_table_says() {
    let (kept, generated) = thread::scope(|scope| {
        let generated = scope.spawn(generated_rows);
        (kept_rows(), generated.join().unwrap())
    });
    let mut table = String::new();
    write_rows(&mut table, "# case  severity  code  line:column  path", &kept);
    write_rows(&mut table, "\n# made by the test; of many alike the first is shown", &generated);
    check_file(&tests_path("broken/expected.txt"), &table);
}

#[test]
fn every_code_that_validate_can_report_is_in_the_table() {
    if support::updates_golden() {
        return;
    }
    let table = fs::read_to_string(tests_path("broken/expected.txt")).unwrap();
    let told: BTreeSet<&str> = table.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let of_plans = ["reference-destroyed", "owned-elsewhere", "mass-destroy", "version-reused"];
    let is_told = |slug: &str| told.contains(slug) || of_plans.contains(&slug);
    let untold: Vec<&str> =
        windlass_core::code::Code::ALL.iter().map(|code| code.slug()).filter(|slug| !is_told(slug)).collect();
    assert_eq!(
        untold,
        Vec::<&str>::new(),
        "no broken fleet shows these codes: add one to tests/broken and run this test with UPDATE_GOLDEN=1 \
         (ARCHITECTURE.md, How to add a problem code)"
    );
}

fn kept_rows() -> Vec<Row> {
    let directory = tests_path("broken");
    let names = fs::read_dir(&directory).expect("the corpus is there").map(|entry| {
        let name = entry.expect("the corpus can be listed").file_name();
        name.into_string().expect("names of cases are UTF-8")
    });
    let mut cases: Vec<String> =
        names.filter(|name| name != "expected.txt" && !name.starts_with('.')).collect();
    cases.sort();
    cases.iter().flat_map(|case| rows_of(&directory, case)).collect()
}

fn rows_of(directory: &Path, case: &str) -> Vec<Row> {
    let further = further_arguments(&directory.join(case));
    let mut arguments = vec!["validate", case, "--format", "json"];
    arguments.extend(further.split_whitespace());
    let rows = rows(case, &windlass(directory, &arguments));
    assert!(!rows.is_empty(), "{case}: nothing is told");
    rows
}

fn further_arguments(case: &Path) -> String {
    let bytes = fs::read(case).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let first = text.lines().next().and_then(|line| line.strip_prefix("# args: "));
    first.unwrap_or_default().to_owned()
}

/// Parses the output, and checks everything that is the same for every case.
fn rows(case: &str, run: &Run) -> Vec<Row> {
    assert_eq!(String::from_utf8_lossy(&run.stderr), "", "{case}: standard error is for people");
    let document: Value = serde_json::from_slice(&run.stdout).expect("the output is JSON");
    let problems = document["problems"].as_array().expect("problems are a list");
    let rows: Vec<Row> = problems.iter().map(row).collect();
    let fails = rows.iter().any(|row| row.severity == "error");
    assert_eq!(run.code, Some(i32::from(fails)), "{case}: the exit code tells whether there are errors");
    let unique: BTreeSet<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(unique.len(), problems.len(), "{case}: nothing is told twice");
    rows
}

fn row(problem: &Value) -> Row {
    let text = |key: &str| problem[key].as_str().expect("texts are texts").to_owned();
    let number = |key: &str| problem[key].as_u64().expect("places are numbers");
    Row {
        file: text("file"),
        place: (number("line"), number("column")),
        severity: text("severity"),
        code: text("code"),
        path: text("path"),
    }
}

fn generated_rows() -> Vec<Row> {
    generate::CASES.iter().flat_map(|(name, make)| first_of_each_code(name, *make)).collect()
}

/// The first problem of each code in a large case, and how many there are.
fn first_of_each_code(case: &str, make: fn(&Path)) -> Vec<Row> {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    make(directory.path());
    let all = rows(case, &windlass(directory.path(), &["validate", "--format", "json"]));
    assert!(!all.is_empty(), "{case}: nothing is told");
    let mut firsts: BTreeMap<String, (Row, usize)> = BTreeMap::new();
    for row in all {
        let (_, count) = firsts.entry(row.code.clone()).or_insert_with(|| (row, 0));
        *count += 1;
    }
    firsts.into_values().map(|(row, count)| summary(case, row, count)).collect()
}

fn summary(case: &str, row: Row, count: usize) -> Row {
    let short: String = row.path.chars().take(60).collect();
    let path = if count > 1 { format!("{short}  × {count}") } else { short };
    Row { file: format!("{case}/{}", row.file), path, ..row }
}

fn write_rows(table: &mut String, title: &str, rows: &[Row]) {
    let mut rows = rows.to_vec();
    rows.sort();
    let width = |text: fn(&Row) -> usize| rows.iter().map(text).max().unwrap_or_default();
    let (file, code) = (width(|row| row.file.len()), width(|row| row.code.len()));
    let _ = writeln!(table, "{title}");
    for Row { file: name, place: (line, column), severity, code: slug, path } in &rows {
        let place = format!("{line}:{column}");
        let text = format!("{name:file$}  {severity:7}  {slug:code$}  {place:7}  {path}");
        let _ = writeln!(table, "{}", text.trim_end());
    }
}
