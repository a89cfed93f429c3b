//! Writes the tree of a new commit: the base tree with files replaced or added.

use std::collections::BTreeMap;
use std::error::Error;

use gix::objs::Tree;
use gix::objs::tree::{Entry, EntryKind};

use super::super::budget::{ObjectBudget, sized_tree};

pub(super) type Cause = Box<dyn Error + Send + Sync>;

/// Why a tree could not be written.
pub(super) enum TreeError {
    /// A path needs a directory where there is a file, or the other way round.
    ThroughFile(String),
    /// Any other error.
    Other(Cause),
}

impl<E: Into<Cause>> From<E> for TreeError {
    fn from(error: E) -> TreeError {
        TreeError::Other(error.into())
    }
}

/// Writes a tree with files replaced or added; everything else stays unchanged.
pub(super) fn write_tree(
    repository: &gix::Repository,
    base: Option<gix::ObjectId>,
    files: &BTreeMap<&str, &[u8]>,
    budget: &ObjectBudget,
) -> Result<gix::ObjectId, TreeError> {
    let mut tree = match base {
        Some(id) => Tree::from(sized_tree(repository, id, budget)?.decode()?),
        None => Tree::empty(),
    };
    let mut below: BTreeMap<&str, BTreeMap<&str, &[u8]>> = BTreeMap::new();
    for (path, content) in files {
        match path.split_once('/') {
            Some((directory, rest)) => {
                below.entry(directory).or_default().insert(rest, content);
            }
            None => {
                let oid = repository.write_blob(content)?.detach();
                let old = tree.entries.iter().find(|entry| entry.filename == *path).map(|entry| entry.mode);
                let mode = match old {
                    None => EntryKind::Blob.into(),
                    Some(mode) if mode.is_blob() => mode,
                    Some(_) => return Err(TreeError::ThroughFile((*path).to_owned())),
                };
                put(&mut tree, Entry { mode, filename: (*path).into(), oid });
            }
        }
    }
    for (directory, files) in &below {
        let old = tree.entries.iter().find(|entry| entry.filename == *directory);
        if old.is_some_and(|entry| !entry.mode.is_tree()) {
            return Err(TreeError::ThroughFile((*directory).to_owned()));
        }
        let oid = write_tree(repository, old.map(|entry| entry.oid), files, budget)?;
        put(&mut tree, Entry { mode: EntryKind::Tree.into(), filename: (*directory).into(), oid });
    }
    tree.entries.sort();
    Ok(repository.write_object(&tree)?.detach())
}

fn put(tree: &mut Tree, entry: Entry) {
    tree.entries.retain(|old| old.filename != entry.filename);
    tree.entries.push(entry);
}
