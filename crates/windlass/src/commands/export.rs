//! `windlass export`.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use windlass_api::endpoint::Operation;
use windlass_core::manifest::FLEET_FILE;

use super::input::{OverwritePolicy, write_text};
use super::remote::ServerConnection;
use crate::args::resource::ExportOptions;
use crate::exit::{CommandError, Exit};
use crate::view;

/// A fleet that is too large for one file.
#[derive(Deserialize)]
struct FilesAnswer {
    /// Path → text.
    files: BTreeMap<String, String>,
    #[serde(default)]
    left_out: Vec<String>,
    /// How many values are masked.
    #[serde(default)]
    masked: usize,
}

pub(super) fn run(options: &ExportOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let existing = if options.overwrite { OverwritePolicy::Replace } else { OverwritePolicy::Keep };
    let call = remote.call(Operation::Export, &[]).query("form", options.form.word());
    let call = call.query_if("secrets", options.show_secrets.then_some("show"));
    let text = remote.text(call.query_if("repository", options.repo.as_ref()))?;
    // One file comes as it is, which is YAML with `version` first; several come as a JSON object.
    match (serde_json::from_str::<FilesAnswer>(&text), &options.dir, &options.file) {
        (Ok(several), Some(directory), _) => write_files(&several, directory, existing, remote),
        (Ok(several), None, _) => {
            let message = format!("the fleet needs {} files", several.files.len());
            Err(CommandError::failed(message, "add --dir DIRECTORY"))
        }
        (Err(_), Some(directory), _) => {
            let one = BTreeMap::from([(FLEET_FILE.to_owned(), text)]);
            write_files(
                &FilesAnswer { files: one, left_out: Vec::new(), masked: 0 },
                directory,
                existing,
                remote,
            )
        }
        (Err(_), None, Some(file)) => {
            write_text(file, &text, existing)?;
            remote.print_message(&format!("wrote {}", file.display()))?;
            Ok(Exit::Fine)
        }
        (Err(_), None, None) => {
            view::document(&text)?;
            Ok(Exit::Fine)
        }
    }
}

fn write_files(
    exported: &FilesAnswer,
    directory: &Path,
    existing: OverwritePolicy,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let mut paths = Vec::new();
    for name in exported.files.keys() {
        paths.push((inside(directory, name)?, name));
    }
    // What fleet.yaml includes is written first: a fleet.yaml never names files that are not there yet.
    paths.sort_by_key(|(_, name)| name.as_str() == FLEET_FILE);
    for (path, name) in &paths {
        let parent = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(parent).map_err(|error| {
            let message = format!("could not create {}", parent.display());
            CommandError::failed(message, "choose a directory with write permission").because(error)
        })?;
        write_text(path, &exported.files[*name], existing)?;
        remote.print_message(&format!("wrote {}", path.display()))?;
    }
    if exported.masked > 0 {
        let masked = format!("{} values are masked; use --show-secrets to write them", exported.masked);
        view::note(&masked)?;
    }
    for left_out in &exported.left_out {
        view::note(&format!("left out {left_out}"))?;
    }
    Ok(if exported.left_out.is_empty() { Exit::Fine } else { Exit::Problems })
}

/// Where a file that a server named goes: nowhere but into the directory.
fn inside(directory: &Path, name: &str) -> Result<PathBuf, CommandError> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    match !name.is_empty() && Path::new(name).components().all(is_plain) && !name.contains(char::is_control) {
        true => Ok(directory.join(name)),
        false => {
            let message = format!("the server sent a file path outside the directory: {name}");
            Err(CommandError::failed(message, "nothing was written; do not trust this server"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_a_server_names_stay_inside_the_directory() {
        let directory = Path::new("out");
        for name in ["fleet.yaml", "fleet.d/nodes-1.yaml"] {
            assert_eq!(inside(directory, name).unwrap(), directory.join(name));
        }
        for name in ["", "..", "../fleet.yaml", "/etc/passwd", "fleet.d/../../x", "./x", "a\nb"] {
            assert!(inside(directory, name).is_err(), "{name}");
        }
    }
}
