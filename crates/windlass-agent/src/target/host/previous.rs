//! What was at a path before the agent's first change, and putting it back.

use std::io::Read;

use serde::{Deserialize, Serialize};
use windlass_core::content::{FileSide, MAX_FILE_BYTES};
use windlass_core::host::BlobDigest;

use super::error::HostError;
use super::machine::Machine;
use super::tree::{Attributes, HostTree, PathMetadata, PathType, Replacement};
use windlass_core::host::{FieldDifference, push_value};

/// What was at a path before the agent's first change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum PreviousPath {
    /// Nothing.
    Absent,
    /// A file. The state directory has its content.
    File {
        content: BlobDigest,
        size: u64,
        mode: u32,
        uid: u32,
        gid: u32,
        /// The SELinux label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<Vec<u8>>,
    },
    /// A directory.
    Directory { mode: u32, uid: u32, gid: u32 },
    /// A symbolic link. Its target need not be text.
    Link { to: Vec<u8> },
}

/// Remembers what is at a path, with its content.
pub(crate) fn remember(machine: &Machine<'_>, path: &str) -> Result<PreviousPath, HostError> {
    let Some(found) = machine.tree.metadata(path)? else { return Ok(PreviousPath::Absent) };
    let PathMetadata { mode, uid, gid, size, .. } = found;
    match found.path_type {
        PathType::Special => Err(found.path_type.refuse(path)),
        PathType::Directory => Ok(PreviousPath::Directory { mode, uid, gid }),
        PathType::Link => Ok(PreviousPath::Link { to: machine.tree.link_target(path)? }),
        PathType::File => {
            let mut file = machine.tree.open_file(path)?;
            let label = HostTree::label_of(&file);
            let content = machine.state.save(&mut file, path)?;
            Ok(PreviousPath::File { content, size, mode, uid, gid, label })
        }
    }
}

/// Puts back what was at a path. A directory that the agent created is left to the code that removes empty directories.
pub(crate) fn restore(machine: &Machine<'_>, path: &str, previous: &PreviousPath) -> Result<(), HostError> {
    let tree = &machine.tree;
    match previous {
        PreviousPath::Absent => match tree.metadata(path)?.map(|found| found.path_type) {
            None | Some(PathType::Directory) => Ok(()),
            Some(_) => tree.remove_file(path),
        },
        PreviousPath::Directory { mode, uid, gid } => {
            tree.create_directories(path)?;
            tree.set_attributes(path, &Attributes { mode: *mode, uid: *uid, gid: *gid, label: None })
        }
        PreviousPath::Link { to } => {
            tree.create_parents(path)?;
            tree.replace_with_link(path, to)
        }
        PreviousPath::File { content, mode, uid, gid, label, .. } => {
            let attributes = Attributes { mode: *mode, uid: *uid, gid: *gid, label: label.clone() };
            tree.create_parents(path)?;
            restore_file(machine, path, content, &attributes)
        }
    }
}

fn restore_file(
    machine: &Machine<'_>,
    path: &str,
    content: &BlobDigest,
    attributes: &Attributes,
) -> Result<(), HostError> {
    let copy = |write: &mut dyn FnMut(&[u8]) -> Result<(), HostError>| {
        let mut saved = machine.state.open_saved(content)?;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count =
                saved.read(&mut buffer).map_err(|error| HostError::io("read the saved", path, error))?;
            if count == 0 {
                return Ok(());
            }
            write(&buffer[..count])?;
        }
    };
    machine.tree.replace(&Replacement { path, attributes, content: &copy, check: &|_| Ok(()) })
}

/// What differs between the host and what was at a path before.
pub(crate) fn restore_differences(
    machine: &Machine<'_>,
    path: &str,
    previous: &PreviousPath,
) -> Result<Vec<FieldDifference>, HostError> {
    let mut differences = Vec::new();
    let found = machine.tree.metadata(path)?;
    let (before, mode) = match previous {
        PreviousPath::Absent => (None, None),
        PreviousPath::File { mode, .. } => (Some(PathType::File), Some(*mode)),
        PreviousPath::Directory { mode, .. } => (Some(PathType::Directory), Some(*mode)),
        PreviousPath::Link { .. } => (Some(PathType::Link), None),
    };
    let found_type = found.map(|found| found.path_type);
    push_value(&mut differences, "type", found_type.map(PathType::word), before.map(PathType::word));
    if let (Some(found), Some(mode)) = (found, mode) {
        let octal = |mode: u32| format!("{mode:04o}");
        push_value(&mut differences, "mode", Some(&octal(found.mode)), Some(&octal(mode)));
    }
    if let PreviousPath::Link { to } = previous {
        let now =
            if found_type == Some(PathType::Link) { Some(machine.tree.link_target(path)?) } else { None };
        if now.as_ref() != Some(to) {
            let shown = |target: &Vec<u8>| String::from_utf8_lossy(target).into_owned();
            push_value(&mut differences, "to", now.as_ref().map(shown).as_deref(), Some(&shown(to)));
        }
    }
    let (now, then) = (observed_side(machine, path, found)?, previous_side(machine, previous)?);
    if now != then {
        differences.extend(FieldDifference::content(path, &now, &then));
    }
    Ok(differences)
}

/// The content of a file of the host, for a diff.
pub(crate) fn observed_side(
    machine: &Machine<'_>,
    path: &str,
    found: Option<PathMetadata>,
) -> Result<FileSide, HostError> {
    match found {
        Some(found) if found.path_type == PathType::File && found.size > MAX_FILE_BYTES => {
            Ok(FileSide::Large(found.size))
        }
        Some(found) if found.path_type == PathType::File => read_side(machine.tree.open_file(path)?, path),
        _ => Ok(FileSide::Nothing),
    }
}

fn previous_side(machine: &Machine<'_>, previous: &PreviousPath) -> Result<FileSide, HostError> {
    match previous {
        PreviousPath::File { size, .. } if *size > MAX_FILE_BYTES => Ok(FileSide::Large(*size)),
        PreviousPath::File { content, .. } => {
            read_side(machine.state.open_saved(content)?, &content.to_string())
        }
        _ => Ok(FileSide::Nothing),
    }
}

/// Reads a file that may have grown since the agent looked at its size.
fn read_side(file: impl Read, path: &str) -> Result<FileSide, HostError> {
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| HostError::io("read", path, error))?;
    match bytes.len() as u64 {
        size if size > MAX_FILE_BYTES => Ok(FileSide::Large(size)),
        _ => Ok(FileSide::Bytes(bytes)),
    }
}
