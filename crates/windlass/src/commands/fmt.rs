//! `windlass fmt`.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use windlass_core::diagnostic::LineIndex;
use windlass_core::manifest::ReadCache;
use windlass_core::yaml;
use windlass_source::{DiskTree, read_fleet};

use super::load;
use crate::args::FmtOptions;
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

/// What came of one file.
enum FormatOutcome {
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
                FormatOutcome::Unchanged => {}
                FormatOutcome::Refused(problems, text) => {
                    view::human::file_problems(&problems, &text, terminal)?;
                    exit = Exit::Problems;
                }
                FormatOutcome::Changed { before, after } if options.diff => {
                    view::human::text_diff(&file.to_string_lossy(), &before, &after)?;
                    exit = Exit::Problems;
                }
                FormatOutcome::Changed { .. } if options.check => {
                    view::line(&format!("would format {}", file.display()))?;
                    exit = Exit::Problems;
                }
                FormatOutcome::Changed { after, .. } => {
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
    let read = read_fleet(&DiskTree::new(&directory), &root, &mut ReadCache::default());
    if let Some(problem) = read.problems.first() {
        let help = problem.help.clone().unwrap_or_default();
        return Err(CommandError::failed(format!("{}: {}", problem.file, problem.message), help));
    }
    let is_alone = !path.is_dir();
    let count = if is_alone { 1 } else { read.files.len() };
    Ok(read.files.iter().take(count).map(|file| directory.join(&file.path)).collect())
}

fn format_file(path: &Path) -> Result<FormatOutcome, CommandError> {
    let shown = path.display().to_string();
    let before = std::fs::read_to_string(path).map_err(|error| {
        CommandError::failed(format!("could not read {shown}"), "check that it is UTF-8 text and readable")
            .because(error)
    })?;
    Ok(match yaml::format(&before) {
        Ok(after) if after == before => FormatOutcome::Unchanged,
        Ok(after) => FormatOutcome::Changed { before, after },
        Err(findings) => {
            let lines = LineIndex::new(&before);
            let problems = findings.into_iter().map(|finding| lines.place(&shown, finding)).collect();
            FormatOutcome::Refused(problems, before.clone())
        }
    })
}

/// Writes the whole new file beside the old one and then takes its place, so that no reader sees half of it.
fn replace(path: &Path, text: &str) -> Result<(), CommandError> {
    let fail = |error: std::io::Error| {
        CommandError::failed(
            format!("could not write {}", path.display()),
            "check that you have write permission",
        )
        .because(error)
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
        CommandError::failed("could not read standard input", "it must be UTF-8 text").because(error)
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
