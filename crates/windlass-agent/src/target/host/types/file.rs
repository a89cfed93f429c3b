//! Files: content, owner and mode, replaced in one step.

use std::io::Read;
use std::path::Path;

use windlass_core::content::{FileSide, MAX_FILE_BYTES};
use windlass_core::host::{BlobDigest, BlobRef, DesiredFile, FileContent, HostItem, fill};
use windlass_core::value::{AbsolutePath, CheckCommand};

use crate::target::host::blob::{copy_blob, read_blob};
use crate::target::host::command::{self, VALIDATION_LIMIT};
use crate::target::host::error::HostError;
use crate::target::host::item_type::ItemType;
use crate::target::host::machine::Machine;
use crate::target::host::owner::push_attributes;
use crate::target::host::previous::{self, PreviousPath};
use crate::target::host::tree::{PathMetadata, PathType, Replacement};
use windlass_core::host::{FieldDifference, push_value};

/// Files.
pub(crate) struct FileType;

/// The bytes that a file gets.
enum NewContent {
    Bytes(Vec<u8>),
    /// A blob that is read when it is needed.
    Blob(BlobRef),
}

impl NewContent {
    fn of(machine: &Machine<'_>, content: &FileContent) -> Result<NewContent, HostError> {
        match content {
            FileContent::Text(text) => Ok(NewContent::Bytes(text.as_bytes().to_vec())),
            FileContent::Blob(blob) => Ok(NewContent::Blob(*blob)),
            FileContent::FilledBlob(blob, values) => {
                let text = String::from_utf8(read_blob(machine.blobs, blob)?);
                let text = text.map_err(|_| HostError::BlobNotText { digest: blob.digest })?;
                let filled = fill(&text, values).map_err(HostError::Template)?;
                Ok(NewContent::Bytes(filled.into_bytes()))
            }
        }
    }

    fn reference(&self) -> BlobRef {
        match self {
            NewContent::Bytes(bytes) => BlobRef { digest: BlobDigest::of(bytes), size: bytes.len() as u64 },
            NewContent::Blob(blob) => *blob,
        }
    }

    /// The content for a diff.
    fn side(&self, machine: &Machine<'_>) -> FileSide {
        match self {
            content if content.reference().size > MAX_FILE_BYTES => FileSide::Large(content.reference().size),
            NewContent::Bytes(bytes) => FileSide::Bytes(bytes.clone()),
            // The blob may not be on this host yet; a plan can be made without it.
            NewContent::Blob(blob) => {
                read_blob(machine.blobs, blob).map_or(FileSide::Missing, FileSide::Bytes)
            }
        }
    }
}

impl ItemType for FileType {
    const NAME: &'static str = "file";
    const ID_KIND: &'static str = "path";
    type Desired<'i> = (&'i AbsolutePath, &'i DesiredFile);
    type Previous = PreviousPath;

    fn of(item: &HostItem) -> Option<Self::Desired<'_>> {
        match item {
            HostItem::File(path, file) => Some((path, file)),
            _ => None,
        }
    }

    fn paths(_machine: &Machine<'_>, (path, _): Self::Desired<'_>) -> Vec<String> {
        vec![path.to_string()]
    }

    fn differences(
        machine: &Machine<'_>,
        (path, file): Self::Desired<'_>,
    ) -> Result<Vec<FieldDifference>, HostError> {
        let mut differences = Vec::new();
        let found = machine.tree.metadata(path.as_str())?;
        let found_type = found.map(|found| found.path_type);
        push_value(&mut differences, "type", found_type.map(PathType::word), Some("file"));
        let content = NewContent::of(machine, &file.content)?;
        if !has_content(machine, path.as_str(), found, &content)? {
            let observed = previous::observed_side(machine, path.as_str(), found)?;
            differences.extend(FieldDifference::content(path.as_str(), &observed, &content.side(machine)));
        }
        let found = found.filter(|found| found.path_type == PathType::File);
        let desired = (file.mode.0, file.owner.as_str(), file.group.as_str());
        push_attributes(machine, &mut differences, found, desired)?;
        Ok(differences)
    }

    fn remember(machine: &Machine<'_>, (path, _): Self::Desired<'_>) -> Result<PreviousPath, HostError> {
        previous::remember(machine, path.as_str())
    }

    fn apply(machine: &Machine<'_>, (path, file): Self::Desired<'_>) -> Result<(), HostError> {
        let path = path.as_str();
        let attributes = machine.attributes(file.mode.0, file.owner.as_str(), file.group.as_str())?;
        let content = NewContent::of(machine, &file.content)?;
        let found = machine.tree.metadata(path)?;
        if has_content(machine, path, found, &content)? {
            return machine.tree.set_attributes(path, &attributes);
        }
        machine.tree.create_parents(path)?;
        let copy = |write: &mut dyn FnMut(&[u8]) -> Result<(), HostError>| match &content {
            NewContent::Bytes(bytes) => write(bytes),
            NewContent::Blob(blob) => copy_blob(machine.blobs, blob, write),
        };
        let check = |new: &Path| file.validate.as_ref().map_or(Ok(()), |command| validate(command, new));
        machine.tree.replace(&Replacement { path, attributes: &attributes, content: &copy, check: &check })
    }

    fn removal_differences(
        machine: &Machine<'_>,
        path: &str,
        previous: &PreviousPath,
    ) -> Result<Vec<FieldDifference>, HostError> {
        previous::restore_differences(machine, path, previous)
    }

    fn remove(machine: &Machine<'_>, path: &str, previous: &PreviousPath) -> Result<(), HostError> {
        previous::restore(machine, path, previous)
    }
}

/// Whether a file has this content already.
fn has_content(
    machine: &Machine<'_>,
    path: &str,
    found: Option<PathMetadata>,
    content: &NewContent,
) -> Result<bool, HostError> {
    let desired = content.reference();
    let has_size = found.is_some_and(|found| found.path_type == PathType::File && found.size == desired.size);
    if !has_size {
        return Ok(false);
    }
    let mut file = machine.tree.open_file(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = file.read(&mut buffer).map_err(|error| HostError::io("read", path, error))?;
        if count == 0 {
            return Ok(BlobDigest::from_hasher(&hasher) == desired.digest);
        }
        hasher.update(&buffer[..count]);
    }
}

/// Runs the command that must accept a file before it is put in place.
fn validate(command: &CheckCommand, new: &Path) -> Result<(), HostError> {
    let new = new.display().to_string();
    let words = command::split_words(command.as_str())?;
    let words: Vec<String> = words.iter().map(|word| word.replace("{}", &new)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = command::run(&words, VALIDATION_LIMIT)?;
    match output.succeeded {
        true => Ok(()),
        false => Err(HostError::ValidationFailed { command: command.to_string(), output: output.shown }),
    }
}
