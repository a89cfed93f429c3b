//! Files that commands read and write, standard input among them.

use std::io::{Read as _, Write as _};
use std::path::Path;

use serde_json::Value;
use windlass_core::diagnostic::LineIndex;
use windlass_core::shape::{Decoder, Shape as _};
use windlass_core::yaml;

use crate::exit::CommandError;
use crate::view::{self, Terminal};

/// Reads a text file, or standard input for `-`.
pub(super) fn read_text(path: &Path) -> Result<String, CommandError> {
    let limit = yaml::MAX_FILE_BYTES as u64 + 1;
    let mut text = String::new();
    let read = match path.to_str() {
        Some("-") => std::io::stdin().take(limit).read_to_string(&mut text),
        _ => std::fs::File::open(path).and_then(|file| file.take(limit).read_to_string(&mut text)),
    };
    read.map_err(|error| {
        let message = format!("could not read {}", path.display());
        CommandError::failed(message, "check that it is UTF-8 text and readable").because(error)
    })?;
    Ok(text)
}

/// What came of reading YAML.
pub(super) enum YamlInput {
    /// The value.
    Valid(Value),
    /// It has problems, which were told.
    ProblemsReported,
}

/// Reads a text as YAML or JSON and tells every problem.
pub(super) fn read_yaml(file: &str, text: &str, terminal: &Terminal) -> Result<YamlInput, CommandError> {
    let (tree, mut findings) = yaml::parse(text);
    let mut decoder = Decoder::default();
    let value = tree.as_ref().and_then(|tree| Value::decode(tree.root(), &mut decoder));
    findings.extend(decoder.into_findings());
    let lines = LineIndex::new(text);
    let problems: Vec<_> = findings.into_iter().map(|finding| lines.place(file, finding)).collect();
    view::human::file_problems(&problems, text, terminal)?;
    Ok(match value.filter(|_| !windlass_core::diagnostic::has_errors(&problems)) {
        Some(value) => YamlInput::Valid(value),
        None => YamlInput::ProblemsReported,
    })
}

/// What to do with a file that is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OverwritePolicy {
    Keep,
    Replace,
}

/// Writes a whole file at once: beside its place first, so that no reader sees half of it.
pub(super) fn write_text(path: &Path, text: &str, existing: OverwritePolicy) -> Result<(), CommandError> {
    let fail = |error: std::io::Error| {
        let help = match error.kind() {
            std::io::ErrorKind::AlreadyExists => "choose another, or add --overwrite",
            _ => "check that you have write permission",
        };
        CommandError::failed(format!("could not write {}", path.display()), help).because(error)
    };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".windlass").tempfile_in(directory).map_err(fail)?;
    file.write_all(text.as_bytes()).map_err(fail)?;
    match existing {
        OverwritePolicy::Keep => file.persist_noclobber(path).map_err(|error| fail(error.error))?,
        OverwritePolicy::Replace => file.persist(path).map_err(|error| fail(error.error))?,
    };
    Ok(())
}
