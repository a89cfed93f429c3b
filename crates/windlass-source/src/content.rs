//! What stands at the paths that a fleet names: git's ids of it, and what differs between two of them.
//!
//! Comparing goes from directory to directory and passes over whatever has the same id on both sides, so that it costs
//! what changed and not what is there.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::content::{ContentChange, ContentDifference, ContentId, ContentKind, FileSide};

use crate::ReadError;

/// So many entries of directories are looked at for one difference. What is beyond is neither named nor counted.
const MAX_ENTRIES: usize = 20_000;

/// So many paths are looked into at once.
const MAX_DIFFERENCES: usize = 200;

/// Files of so many bytes together are read for all of them.
const MAX_COMPARED: u64 = 8 * 1024 * 1024;

/// Lines of so many bytes are shown of all of them.
const MAX_TEXT: usize = 1024 * 1024;

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing, or a symbolic link, a submodule or a device.
    Nothing,
    /// Something of which no more is known.
    Unknown,
    /// A file or directory with this id.
    Known(ContentId),
}

/// What an entry of a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A file.
    File,
    /// A file that may be run.
    Executable,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A submodule.
    Submodule,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectEntry {
    /// Its name.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: ObjectKind,
    /// Git's id of it.
    pub id: [u8; 20],
}

/// Files and directories by git's id of them.
pub trait Objects {
    /// The entries of a directory, so many at most. None if it is not here.
    fn directory(&self, id: &[u8; 20], limit: usize) -> Result<Option<Vec<ObjectEntry>>, ReadError>;

    /// A file of at most so many bytes. None if it is not here.
    fn file(&self, id: &[u8; 20], limit: u64) -> Result<Option<FileSide>, ReadError>;
}

/// Objects of which none is here: of files that someone sent, only ids are known.
#[derive(Clone, Copy, Debug)]
pub struct NoObjects;

impl Objects for NoObjects {
    fn directory(&self, _: &[u8; 20], _: usize) -> Result<Option<Vec<ObjectEntry>>, ReadError> {
        Ok(None)
    }

    fn file(&self, _: &[u8; 20], _: u64) -> Result<Option<FileSide>, ReadError> {
        Ok(None)
    }
}

/// What is in the first of these that has it.
impl Objects for [&dyn Objects] {
    fn directory(&self, id: &[u8; 20], limit: usize) -> Result<Option<Vec<ObjectEntry>>, ReadError> {
        let mut found = Ok(None);
        for objects in self {
            found = objects.directory(id, limit);
            if matches!(found, Ok(Some(_))) {
                break;
            }
        }
        found
    }

    fn file(&self, id: &[u8; 20], limit: u64) -> Result<Option<FileSide>, ReadError> {
        let mut found = Ok(None);
        for objects in self {
            found = objects.file(id, limit);
            if matches!(found, Ok(Some(_))) {
                break;
            }
        }
        found
    }
}

/// One side of what is compared.
type Side = Option<(ObjectKind, [u8; 20])>;

fn side_of(content: ContentId) -> Side {
    let kind = match content.kind() {
        ContentKind::Blob => ObjectKind::File,
        ContentKind::Tree => ObjectKind::Directory,
    };
    Some((kind, *content.as_bytes()))
}

/// What differs in these changes, each once, in order. So many are looked into that what they show can be kept and read;
/// of the rest only the ids are told.
pub fn content_differences<O: Objects + ?Sized>(
    objects: &O,
    changes: impl IntoIterator<Item = ContentChange>,
) -> Vec<ContentDifference> {
    let changes: BTreeSet<ContentChange> = changes.into_iter().collect();
    let (mut text, mut compared) = (0, 0);
    let mut differences = Vec::with_capacity(changes.len().min(MAX_DIFFERENCES));
    for change in changes {
        if differences.len() >= MAX_DIFFERENCES || text > MAX_TEXT || compared > MAX_COMPARED {
            let note = "not looked into: more paths differ than are shown at once";
            differences.push(ContentDifference::new(change).noting(note));
            continue;
        }
        let difference = content_difference(objects, change);
        text += difference.files.iter().map(|file| file.lines.as_ref().map_or(0, String::len)).sum::<usize>();
        compared += difference.compared_bytes();
        differences.push(difference);
    }
    differences
}

/// What differs between two contents of a path. What cannot be had is said, never guessed.
fn content_difference<O: Objects + ?Sized>(objects: &O, change: ContentChange) -> ContentDifference {
    let mut before = change.before.and_then(side_of);
    let after = side_of(change.after);
    let mut difference = ContentDifference::new(change);
    if !is_here(objects, after) {
        return difference.noting("the new content is not at hand here: only its id is known");
    }
    if before.is_some() && !is_here(objects, before) {
        difference = difference.noting(
            "what stood there before is not in this copy of the repository: everything is shown as new",
        );
        before = None;
    }
    let path = difference.change.path.trim_start_matches("./").trim_end_matches('/').to_owned();
    let mut walk = Walk { objects, difference, left: MAX_ENTRIES };
    walk.compare(path, before, after);
    walk.difference
}

fn is_here<O: Objects + ?Sized>(objects: &O, side: Side) -> bool {
    match side {
        None => true,
        Some((ObjectKind::Directory, id)) => matches!(objects.directory(&id, 0), Ok(Some(_))),
        Some((_, id)) => matches!(objects.file(&id, 0), Ok(Some(_))),
    }
}

struct Walk<'o, O: ?Sized> {
    objects: &'o O,
    difference: ContentDifference,
    /// How many entries may still be looked at.
    left: usize,
}

impl<O: Objects + ?Sized> Walk<'_, O> {
    fn compare(&mut self, path: String, before: Side, after: Side) {
        let mut waiting = vec![(path, before, after)];
        while let Some((path, before, after)) = waiting.pop() {
            if before == after {
                continue;
            }
            let is_directory = |side: Side| matches!(side, Some((ObjectKind::Directory, _)));
            let file = |side: Side| if is_directory(side) { None } else { side };
            if file(before).is_some() || file(after).is_some() {
                let (before, after) = (self.read(file(before)), self.read(file(after)));
                self.difference.add(path.clone(), &before, &after);
            }
            if is_directory(before) || is_directory(after) {
                let mut below = self.entries(&path, before, after);
                below.reverse();
                waiting.append(&mut below);
            }
            if self.left == 0 {
                let note = "more differs than was looked at: what is listed is not all of it";
                self.difference.note.get_or_insert_with(|| note.to_owned());
                return;
            }
        }
    }

    /// What stands in either of two directories, by name.
    fn entries(&mut self, path: &str, before: Side, after: Side) -> Vec<(String, Side, Side)> {
        let mut names: BTreeMap<Vec<u8>, (Side, Side)> = BTreeMap::new();
        for entry in self.directory(before) {
            names.entry(entry.name).or_default().0 = Some((entry.kind, entry.id));
        }
        for entry in self.directory(after) {
            names.entry(entry.name).or_default().1 = Some((entry.kind, entry.id));
        }
        let below = |name: &[u8]| match path {
            "" => String::from_utf8_lossy(name).into_owned(),
            path => format!("{path}/{}", String::from_utf8_lossy(name)),
        };
        names.into_iter().map(|(name, (before, after))| (below(&name), before, after)).collect()
    }

    fn directory(&mut self, side: Side) -> Vec<ObjectEntry> {
        let Some((ObjectKind::Directory, id)) = side else { return Vec::new() };
        let entries = self.objects.directory(&id, self.left);
        let entries = entries.ok().flatten().unwrap_or_default();
        self.left = self.left.saturating_sub(entries.len());
        entries
    }

    /// A file's content, unless the file would only be counted.
    fn read(&self, side: Side) -> FileSide {
        match side {
            None | Some((ObjectKind::Directory, _)) => FileSide::Nothing,
            Some((ObjectKind::Link | ObjectKind::Submodule, _)) => FileSide::NotAFile,
            Some(_) if !self.difference.has_room() => FileSide::NotRead,
            Some((_, id)) => {
                let read = self.objects.file(&id, windlass_core::content::MAX_FILE_BYTES);
                read.ok().flatten().unwrap_or(FileSide::Missing)
            }
        }
    }
}
