//! Table C: the time to load the same file in other languages.
//!
//! Each loader measures only the load, best of three: no interpreter start, no reading from disk. It checks nothing.
//! Loaders that are not installed are skipped.

use std::path::Path;
use std::process::Command;

use serde::Serialize;

use crate::Outcome;
use crate::case::{Case, write_files};

/// A program that prints its version and the best time in milliseconds, one per line.
struct Loader {
    name: &'static str,
    program: &'static str,
    script: &'static str,
}

const LOADERS: [Loader; 2] = [
    Loader {
        name: "Python PyYAML CSafeLoader",
        program: "python3",
        script: r#"
import sys, time, yaml
data = open(sys.argv[1], "rb").read()
best = None
for _ in range(3):
    start = time.perf_counter()
    yaml.load(data, Loader=yaml.CSafeLoader)
    took = (time.perf_counter() - start) * 1000
    best = took if best is None else min(best, took)
print("PyYAML", yaml.__version__)
print(best)
"#,
    },
    Loader {
        name: "Ruby Psych safe_load",
        program: "ruby",
        script: r#"
require "yaml"
text = File.read(ARGV[0], encoding: "UTF-8")
now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_millisecond) }
best = 3.times.map { start = now.(); YAML.safe_load(text, aliases: false); now.() - start }.min
puts "Psych #{Psych::VERSION}, Ruby #{RUBY_VERSION}"
puts best
"#,
    },
];

/// The time of a loader, or why it was skipped.
#[derive(Debug, Serialize)]
pub(crate) struct LoaderRow {
    pub(crate) loader: &'static str,
    #[serde(flatten)]
    pub(crate) found: Found,
}

/// The result of a loader.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Found {
    /// It ran.
    Loaded {
        /// The version of the loader.
        version: String,
        /// The best of its runs.
        load_ms: f64,
    },
    /// It is not installed.
    Skipped {
        /// The reason.
        reason: String,
    },
}

/// Measures every loader on the only file of a fleet.
pub(crate) fn measure(case: &Case) -> Outcome<Vec<LoaderRow>> {
    let root = tempfile::tempdir()?;
    write_files(root.path(), &case.current)?;
    let file = root.path().join(&case.current[0].path);
    Ok(LOADERS.iter().map(|loader| LoaderRow { loader: loader.name, found: loader.run(&file) }).collect())
}

impl Loader {
    fn run(&self, file: &Path) -> Found {
        let flag = if self.program == "ruby" { "-e" } else { "-c" };
        let output = match Command::new(self.program).args([flag, self.script]).arg(file).output() {
            Ok(output) => output,
            Err(error) => return Found::Skipped { reason: format!("{}: {error}", self.program) },
        };
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            let last = told.trim().lines().last().unwrap_or("it failed without a word");
            return Found::Skipped { reason: format!("{}: {last}", self.program) };
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        match printed.trim().split_once('\n').map(|(version, ms)| (version, ms.trim().parse())) {
            Some((version, Ok(load_ms))) => Found::Loaded { version: version.to_owned(), load_ms },
            _ => Found::Skipped { reason: format!("{}: printed no time", self.program) },
        }
    }
}
