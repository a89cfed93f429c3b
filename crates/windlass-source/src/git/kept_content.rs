//! Content that a mirror keeps beside its tip: the accepted content, so that a later change of it can be shown.
//!
//! A mirror is pruned to one commit. Content that was accepted from an earlier commit would be removed with that
//! commit, and with it the left side of every difference. The ids are in a file of our own and not in a reference,
//! because references take part in fetching.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use windlass_core::content::{ContentId, ContentKind};

use super::mirror::Mirror;

/// A file in the repository's directory with one id per line.
const KEPT_FILE: &str = "windlass-kept";

impl Mirror {
    /// Sets which content must be kept in the mirror of a directory. Writes nothing if that has not changed, or if
    /// there is no mirror.
    pub fn keep_contents_in(directory: &Path, contents: &BTreeSet<ContentId>) -> io::Result<()> {
        let text: String = contents.iter().map(|content| format!("{content}\n")).collect();
        let path = directory.join(KEPT_FILE);
        if !directory.exists() || fs::read_to_string(&path).unwrap_or_default() == text {
            return Ok(());
        }
        let partial = directory.join(format!("{KEPT_FILE}.partial"));
        fs::write(&partial, text)?;
        fs::rename(&partial, &path)
    }

    /// The objects to keep that exist in the mirror: files and directories.
    pub(super) fn kept_objects(
        &self,
        repository: &gix::Repository,
    ) -> (Vec<gix::ObjectId>, Vec<gix::ObjectId>) {
        let text = fs::read_to_string(self.directory().join(KEPT_FILE)).unwrap_or_default();
        let contents: Vec<ContentId> = text.lines().filter_map(ContentId::parse).collect();
        let of_kind = |kind: ContentKind| {
            let objects = contents.iter().filter(|content| content.kind() == kind);
            objects
                .map(|content| gix::ObjectId::from(*content.as_bytes()))
                .filter(|id| repository.has_object(id))
                .collect()
        };
        (of_kind(ContentKind::Blob), of_kind(ContentKind::Tree))
    }
}
