//! `windlass export`.

use std::path::Path;

use windlass_api::endpoint::Operation;
use windlass_api::types::{Me, ResourceInfo, ResourceList};
use windlass_core::export::{Form, fleet_files};
use windlass_core::manifest::FLEET_FILE;
use windlass_core::resource::{Kind, Spec};

use super::find::{self, Amount};
use super::input::{Existing, write_text};
use super::remote::Remote;
use crate::args::resource::{ExportForm, ExportOptions};
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(options: &ExportOptions, remote: &Remote) -> Result<Exit, CommandError> {
    let existing = if options.overwrite { Existing::Replace } else { Existing::Keep };
    if let Some(directory) = &options.dir {
        return export_files(options, directory, existing, remote);
    }
    let call = remote.call(Operation::Export, &[]).query("form", options.form.word());
    let text = remote.text(call.query_if("repository", options.repo.as_ref()))?;
    match &options.file {
        Some(file) => {
            write_text(file, &text, existing)?;
            remote.say(&format!("wrote {}", file.display()))?;
        }
        None => view::document(&text)?,
    }
    Ok(Exit::Fine)
}

/// Into a directory, because a large fleet needs more than one file: the files are made here, from the resources.
fn export_files(
    options: &ExportOptions,
    directory: &Path,
    existing: Existing,
    remote: &Remote,
) -> Result<Exit, CommandError> {
    let me: Me = remote.get(remote.call(Operation::Me, &[]))?;
    let call = || remote.call(Operation::ResourceList, &[]).query_if("repository", options.repo.as_ref());
    let list: ResourceList = remote.read(&find::pages(remote, "resources", Amount::All, call)?)?;
    let specs = list.resources.iter().map(spec_of).collect::<Result<Vec<(&str, Spec)>, CommandError>>()?;
    let form = match options.form {
        ExportForm::List => Form::List,
        ExportForm::Map => Form::Map,
    };
    let exported = fleet_files(&me.account_name, specs.iter().map(|(name, spec)| (*name, spec)), form);
    // What fleet.yaml includes is written first: a fleet.yaml never names files that are not there yet.
    for file in exported.files.iter().rev() {
        let path = directory.join(&file.path);
        let parent = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(parent).map_err(|error| {
            let message = format!("could not make {}: {error}", parent.display());
            CommandError::told(message, "name a directory you may write to")
        })?;
        write_text(&path, &file.text, existing)?;
    }
    for left_out in &exported.left_out {
        view::note(&format!("left out {left_out}"))?;
    }
    let files = view::count(exported.files.len(), "file");
    let root = directory.join(FLEET_FILE);
    remote.say(&format!("wrote {} in {files}: {}", view::count(specs.len(), "resource"), root.display()))?;
    Ok(if exported.left_out.is_empty() { Exit::Fine } else { Exit::Problems })
}

fn spec_of(resource: &ResourceInfo) -> Result<(&str, Spec), CommandError> {
    let spec =
        Kind::from_word(&resource.kind).and_then(|kind| Spec::read(kind, &resource.spec.to_string()).spec);
    spec.map(|spec| (resource.name.as_str(), spec)).ok_or_else(|| {
        let message = format!("{} {} is not understood", resource.kind, resource.name);
        CommandError::told(
            message,
            "the server may be newer: use its version of this program, or export without --dir",
        )
    })
}
