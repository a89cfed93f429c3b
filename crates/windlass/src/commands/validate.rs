//! `windlass validate`.

use windlass_core::code::ProblemSeverity;
use windlass_core::diagnostic::Diagnostic;
use windlass_core::digest::Digest;

use super::load::{self, LoadedFleet};
use crate::args::{ProblemFormat, ValidateOptions};
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

pub(crate) fn run(options: &ValidateOptions, terminal: &Terminal) -> Result<Exit, CommandError> {
    let context = load::context(&options.account);
    let fleets: Vec<LoadedFleet> = options.paths.iter().map(|path| load::from_path(path, &context)).collect();
    let problems: Vec<Diagnostic> =
        fleets.iter().flat_map(|loaded| loaded.problems.iter().cloned()).collect();
    let checked = view::ValidationResult {
        problems: &problems,
        resources: resources(&fleets),
        digest: digest(&fleets),
    };
    let text_of = |file: &str| fleets.iter().find_map(|loaded| loaded.text(file));
    match options.format {
        ProblemFormat::Human => view::human::problems(&checked, &text_of, terminal)?,
        ProblemFormat::Json => view::json::problems(&checked)?,
        ProblemFormat::Sarif => view::sarif::problems(&problems)?,
        ProblemFormat::Github => view::github::problems(&problems)?,
    }
    let fails = |problem: &Diagnostic| options.strict || problem.severity == ProblemSeverity::Error;
    Ok(if problems.iter().any(fails) { Exit::Problems } else { Exit::Fine })
}

fn resources(fleets: &[LoadedFleet]) -> usize {
    fleets.iter().map(|loaded| loaded.fleet.desired.resources.len()).sum()
}

/// The fleet's digest; for several fleets, one over all of theirs in the order given.
fn digest(fleets: &[LoadedFleet]) -> Digest {
    let digests: Vec<Digest> = fleets.iter().map(|loaded| loaded.fleet.desired.digest()).collect();
    match digests.as_slice() {
        [only] => *only,
        many => Digest::of_parts(many.iter().map(Digest::as_bytes)),
    }
}
