//! `windlass fmt`.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use windlass_core::diagnostic::LineIndex;
use windlass_core::manifest::Memo;
use windlass_core::yaml;
use windlass_source::{Directory, read_fleet};

use super::load;
use crate::args::FmtOptions;
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

/// What came of one file.
enum Outcome {
    Unchanged,
    Changed { before: String, after: String },
    Refused(Vec<windlass_core::diagnostic::Diagnostic>, String),
}

pub(crate) fn run(options: &FmtOptions, terminal: &Terminal) -> Result<Exit, CommandError> {
    if options.paths == [PathBuf::from("-")] {
        return format_stdin(terminal);
    }
    let mut exit = Exit::Fine;
    for path in &options.paths {
        for file in files_of(path)? {
            match format_file(&file)? {
                Outcome::Unchanged => {}
                Outcome::Refused(problems, text) => {
                    view::human::file_problems(&problems, &text, terminal)?;
                    exit = Exit::Problems;
                }
                Outcome::Changed { before, after } if options.diff => {
                    view::human::text_diff(&file.to_string_lossy(), &before, &after)?;
                    exit = Exit::Problems;
                }
                Outcome::Changed { .. } if options.check => {
                    view::line(&format!("would format {}", file.display()))?;
                    exit = Exit::Problems;
                }
                Outcome::Changed { after, .. } => {
                    replace(&file, &after)?;
                    view::line(&format!("formatted {}", file.display()))?;
                }
            }
        }
    }
    Ok(exit)
}

/// The files of the fleet at a path: a file alone, or fleet.yaml with everything it includes.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let (directory, root) = load::split(path);
    let read = read_fleet(&Directory::new(&directory), &root, &mut Memo::default());
    if let Some(problem) = read.problems.first() {
        let help = problem.help.clone().unwrap_or_default();
        return Err(CommandError::told(format!("{}: {}", problem.file, problem.message), help));
    }
    let is_alone = !path.is_dir();
    let count = if is_alone { 1 } else { read.files.len() };
    Ok(read.files.iter().take(count).map(|file| directory.join(&file.path)).collect())
}

fn format_file(path: &Path) -> Result<Outcome, CommandError> {
    let shown = path.display().to_string();
    let before = std::fs::read_to_string(path).map_err(|error| {
        CommandError::told(
            format!("could not read {shown}: {error}"),
            "check that it is UTF-8 text you may read",
        )
    })?;
    Ok(match yaml::format(&before) {
        Ok(after) if after == before => Outcome::Unchanged,
        Ok(after) => Outcome::Changed { before, after },
        Err(findings) => {
            let lines = LineIndex::new(&before);
            let problems = findings.into_iter().map(|finding| lines.place(&shown, finding)).collect();
            Outcome::Refused(problems, before.clone())
        }
    })
}

/// Writes the whole new file beside the old one and then takes its place, so that no reader sees half of it.
fn replace(path: &Path, text: &str) -> Result<(), CommandError> {
    let fail = |error: std::io::Error| {
        CommandError::told(
            format!("could not write {}: {error}", path.display()),
            "check that you may write there",
        )
    };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(fail)?;
    file.write_all(text.as_bytes()).map_err(fail)?;
    let permissions = std::fs::metadata(path).map_err(fail)?.permissions();
    file.as_file().set_permissions(permissions).map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}

fn format_stdin(terminal: &Terminal) -> Result<Exit, CommandError> {
    let mut text = String::new();
    let limit = yaml::MAX_FILE_BYTES as u64 + 1;
    std::io::stdin().take(limit).read_to_string(&mut text).map_err(|error| {
        CommandError::told(format!("could not read standard input: {error}"), "it must be UTF-8 text")
    })?;
    match yaml::format(&text) {
        Ok(formatted) => {
            view::text(&formatted)?;
            Ok(Exit::Fine)
        }
        Err(findings) => {
            let lines = LineIndex::new(&text);
            let problems: Vec<_> =
                findings.into_iter().map(|finding| lines.place("stdin", finding)).collect();
            view::human::file_problems(&problems, &text, terminal)?;
            Ok(Exit::Problems)
        }
    }
}
