//! The content at the paths that a fleet names: git's object ids, and the differences between two of them.
//!
//! The comparison descends directory by directory and skips every entry with the same id on both sides, so its cost
//! grows with the size of the change and not with the size of the repository.

mod budget;
mod objects;

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::content::{ContentChange, ContentDifference, ContentId, ContentKind, FileSide};

pub use self::objects::{DirectoryLimits, NoObjects, ObjectEntry, ObjectKind, Objects, SeenDirectory};

use self::budget::DifferenceBudget;
use crate::walk::MAX_PATH_BYTES;

/// How many directory entries are examined for one difference. Entries beyond the limit are neither listed nor counted.
const MAX_ENTRIES: usize = 20_000;

/// How deep directories may be nested.
const MAX_DEPTH: usize = 64;

/// The total size of the paths that wait to be examined.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// How many paths are compared in one call.
const MAX_DIFFERENCES: usize = 200;

/// The total size of the files that are read in one call.
const MAX_COMPARED: u64 = 8 * 1024 * 1024;

/// The total size of the paths and lines that are shown in one call.
const MAX_TEXT: usize = 1024 * 1024;

/// The content at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathContent {
    /// Nothing, or a symbolic link, a submodule or a device.
    Nothing,
    /// The path exists, and its id is not known.
    Unknown,
    /// A file or directory with this id.
    Known(ContentId),
}

/// One side of a comparison.
type ContentSide = Option<(ObjectKind, [u8; 20])>;

fn side_of(content: ContentId) -> ContentSide {
    let kind = match content.kind() {
        ContentKind::Blob => ObjectKind::File,
        ContentKind::Tree => ObjectKind::Directory,
    };
    Some((kind, *content.as_bytes()))
}

/// The differences of these changes, each once, in order. The number of paths, and the cost of all of them together,
/// are limited; for the rest only the ids are reported.
pub fn content_differences<O: Objects + ?Sized>(
    objects: &O,
    changes: impl IntoIterator<Item = ContentChange>,
) -> Vec<ContentDifference> {
    differences_within(&DifferenceBudget::start(), objects, changes)
}

fn differences_within<O: Objects + ?Sized>(
    budget: &DifferenceBudget,
    objects: &O,
    changes: impl IntoIterator<Item = ContentChange>,
) -> Vec<ContentDifference> {
    let changes: BTreeSet<ContentChange> = changes.into_iter().collect();
    let (mut text, mut compared) = (0, 0);
    let mut differences = Vec::with_capacity(changes.len().min(MAX_DIFFERENCES));
    for change in changes {
        let is_enough = differences.len() >= MAX_DIFFERENCES || text > MAX_TEXT || compared > MAX_COMPARED;
        if is_enough || budget.is_spent() {
            let note = "not compared: too many paths differ";
            differences.push(ContentDifference::new(change).with_note(note));
            continue;
        }
        let difference = content_difference(budget, objects, change);
        text += difference.shown_bytes();
        compared += difference.compared_bytes();
        differences.push(difference);
    }
    differences
}

/// The difference between two contents of a path. Content that is not available is reported as such.
fn content_difference<O: Objects + ?Sized>(
    budget: &DifferenceBudget,
    objects: &O,
    change: ContentChange,
) -> ContentDifference {
    let mut before = change.before;
    let after = change.after;
    let mut difference = ContentDifference::new(change);
    if !objects.has(&after) {
        return difference.with_note("the new content is not available here: only its id is known");
    }
    if before.is_some_and(|before| !objects.has(&before)) {
        difference = difference
            .with_note("the old content is not in this copy of the repository: everything is shown as new");
        before = None;
    }
    let path = difference.change.path.trim_start_matches("./").trim_end_matches('/').to_owned();
    let mut walk = ContentWalk { objects, budget, difference, left: MAX_ENTRIES, is_cut: false };
    walk.compare(ContentPair { path, depth: 0, before: before.and_then(side_of), after: side_of(after) });
    if walk.is_cut {
        let note = "too many differences: the list is incomplete";
        walk.difference.note.get_or_insert_with(|| note.to_owned());
    }
    walk.difference
}

/// The content of a path on both sides.
struct ContentPair {
    path: String,
    /// The number of directories below the path that is compared.
    depth: usize,
    before: ContentSide,
    after: ContentSide,
}

struct ContentWalk<'o, O: ?Sized> {
    objects: &'o O,
    budget: &'o DifferenceBudget,
    difference: ContentDifference,
    /// How many entries may still be examined.
    left: usize,
    /// Whether something was not examined.
    is_cut: bool,
}

impl<O: Objects + ?Sized> ContentWalk<'_, O> {
    fn compare(&mut self, first: ContentPair) {
        let mut waiting = vec![first];
        let mut waiting_bytes = 0;
        while let Some(pair) = waiting.pop() {
            waiting_bytes -= pair.path.len().min(waiting_bytes);
            if pair.before == pair.after {
                continue;
            }
            if self.budget.is_spent() {
                self.is_cut = true;
                return;
            }
            let is_directory = |side: ContentSide| matches!(side, Some((ObjectKind::Directory, _)));
            let file = |side: ContentSide| if is_directory(side) { None } else { side };
            if file(pair.before).is_some() || file(pair.after).is_some() {
                let (before, after) = (self.read(file(pair.before)), self.read(file(pair.after)));
                self.difference.add(pair.path.clone(), &before, &after);
            }
            if is_directory(pair.before) || is_directory(pair.after) {
                let mut below = self.entries(&pair, MAX_WAITING_BYTES - waiting_bytes);
                waiting_bytes += below.iter().map(|below| below.path.len()).sum::<usize>();
                below.reverse();
                waiting.append(&mut below);
            }
        }
    }

    /// The entries of two directories, by name, as long as their paths fit into `room` bytes.
    fn entries(&mut self, pair: &ContentPair, mut room: usize) -> Vec<ContentPair> {
        let depth = pair.depth + 1;
        if depth > MAX_DEPTH {
            self.is_cut = true;
            return Vec::new();
        }
        let mut names: BTreeMap<Vec<u8>, (ContentSide, ContentSide)> = BTreeMap::new();
        for entry in self.directory(pair.before) {
            names.entry(entry.name).or_default().0 = Some((entry.kind, entry.id));
        }
        for entry in self.directory(pair.after) {
            names.entry(entry.name).or_default().1 = Some((entry.kind, entry.id));
        }
        let mut below = Vec::new();
        for (name, (before, after)) in names.into_iter().filter(|(_, (before, after))| before != after) {
            let name = String::from_utf8_lossy(&name);
            let bytes = pair.path.len() + 1 + name.len();
            if bytes > MAX_PATH_BYTES || bytes > room {
                self.is_cut = true;
                continue;
            }
            room -= bytes;
            let path = match pair.path.as_str() {
                "" => name.into_owned(),
                path => format!("{path}/{name}"),
            };
            below.push(ContentPair { path, depth, before, after });
        }
        below
    }

    fn directory(&mut self, side: ContentSide) -> Vec<ObjectEntry> {
        let Some((ObjectKind::Directory, id)) = side else { return Vec::new() };
        let seen = self.objects.directory(&id, self.budget.of_directory(self.left));
        let seen = seen.ok().flatten().unwrap_or_default();
        self.left -= seen.entries.len();
        self.budget.take(&seen);
        self.is_cut |= seen.has_more;
        seen.entries
    }

    /// The content of a file, unless the file would only be counted.
    fn read(&self, side: ContentSide) -> FileSide {
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

#[cfg(test)]
mod tests;
