//! The command line.

use crate::server::PARTS;
use crate::server::agents::COUNTS;

const USAGE: &str =
    "usage: windlass-bench [--server] [--only PART] [--json] [--runs COUNT] [--agents COUNT,COUNT]";

/// The argument that makes the bench measure one process; see `child.rs`.
pub(crate) const MEASURE: &str = "measure-child";

/// What to do.
pub(crate) enum Request {
    /// Measure and print all tables.
    Run(Options),
    /// Measure one process, by its command line. Only the bench itself uses this.
    Measure(Vec<String>),
}

/// The options.
pub(crate) struct Options {
    /// Measure a server instead of the core.
    pub(crate) server: bool,
    /// Measure only this part of a server.
    pub(crate) only: Option<String>,
    /// Print JSON instead of tables.
    pub(crate) json: bool,
    /// How often to measure short steps; longer ones are measured less often.
    pub(crate) runs: usize,
    /// The numbers of agents that a server gets; with none, only the agent of one host is measured.
    pub(crate) agents: Vec<usize>,
}

impl Request {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Request, String> {
        let mut options =
            Options { server: false, only: None, json: false, runs: 15, agents: COUNTS.to_vec() };
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
                "--agents" => {
                    let counts = arguments.next().ok_or(USAGE)?;
                    let counts = counts.split(',').filter(|count| *count != "none").map(str::parse);
                    options.agents = counts.collect::<Result<_, _>>().map_err(|_| USAGE)?;
                }
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(Request::Run(options))
    }
}
