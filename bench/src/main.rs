//! Measures how long reading, checking and planning fleets takes, how it grows with their size, and how that compares
//! with loading the same YAML in other languages; and, with `--server`, how long a server takes. It prints and does not
//! judge. See README.md.

mod arguments;
mod binary;
mod case;
mod child;
mod loaders;
mod processes;
mod report;
mod sample;
mod server;
mod stages;
mod table;
mod view;

use std::io::{self, Write as _};
use std::process::ExitCode;

use arguments::Request;
use report::Report;

/// Every error ends the run, so one error type for all causes is enough.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let done = match Request::read(std::env::args().skip(1)) {
        Ok(Request::Measure(command)) => child::measure(&command),
        Ok(Request::Run(options)) => run(&options),
        Err(problem) => Err(problem.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &arguments::Options) -> Outcome<()> {
    if cfg!(debug_assertions) {
        say("this is not a release build: run with `cargo run --release -p windlass-bench`");
    }
    if options.server {
        let report = server::measure(options.only.as_deref(), &options.agents)?;
        let text = match options.json {
            true => serde_json::to_string_pretty(&report)?,
            false => report.text(),
        };
        writeln!(io::stdout().lock(), "{text}")?;
        return Ok(());
    }
    let report = Report::measure(options.runs)?;
    let text = match options.json {
        true => serde_json::to_string_pretty(&report)?,
        false => view::report(&report),
    };
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Prints progress to standard error.
fn say(line: &str) {
    // If standard error is closed, nobody reads it.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
