//! The command line.

use crate::server::PARTS;

const USAGE: &str = "usage: windlass-bench [--server] [--only PART] [--json] [--runs COUNT]";

/// The word that makes the bench measure one process instead; see `child.rs`.
pub(crate) const MEASURE: &str = "measure-child";

/// What is asked for.
pub(crate) enum Request {
    /// All tables.
    Run(Options),
    /// One process, by its command line. Only the bench itself asks for this.
    Measure(Vec<String>),
}

/// How to run.
pub(crate) struct Options {
    /// Measure a server instead of the core.
    pub(crate) server: bool,
    /// Of a server, only this part.
    pub(crate) only: Option<String>,
    /// Print JSON instead of tables.
    pub(crate) json: bool,
    /// How often to measure what takes milliseconds; what takes longer is measured less often.
    pub(crate) runs: usize,
}

impl Request {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Request, String> {
        let mut options = Options { server: false, only: None, json: false, runs: 15 };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                MEASURE => return Ok(Request::Measure(arguments.collect())),
                "--server" => options.server = true,
                "--only" => {
                    let part = arguments.next().filter(|part| PARTS.contains(&part.as_str()));
                    let known = PARTS.join(", ");
                    options.only = Some(part.ok_or_else(|| format!("{USAGE}\nPART is one of {known}"))?);
                    options.server = true;
                }
                "--json" => options.json = true,
                "--runs" => {
                    let count = arguments.next().and_then(|count| count.parse().ok());
                    options.runs = count.filter(|count| *count > 0).ok_or(USAGE)?;
                }
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(Request::Run(options))
    }
}
