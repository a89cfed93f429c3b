//! The content at the paths that resources name. Mirrors keep it so that later changes can be shown, and Windlass
//! compares it before it proposes a change. It comes from git, never from what a request claims.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use windlass_core::accepted::{Accepted, Owner};
use windlass_core::content::{ContentChange, ContentDifference, ContentId};
use windlass_core::desired::Desired;
use windlass_core::diagnostic::{Code, Diagnostic};
use windlass_core::id::RepositoryId;
use windlass_core::resource::{ResourceSpec as _, Spec};
use windlass_source::{GitObjects, Mirror, Objects, content_differences};

use crate::control::Control;

/// Compares the contents of these changes in the mirrors in these directories, on a thread that may block. If no mirror
/// has the content, the difference has a note.
pub(crate) async fn compare_contents(
    directories: Vec<PathBuf>,
    changes: Vec<ContentChange>,
) -> Vec<ContentDifference> {
    if changes.is_empty() {
        return Vec::new();
    }
    let unseen = changes.clone();
    let task = tokio::task::spawn_blocking(move || {
        let mirrors: Vec<GitObjects> =
            directories.iter().filter_map(|directory| Mirror::objects_in(directory)).collect();
        let objects: Vec<&dyn Objects> = mirrors.iter().map(|mirror| mirror as &dyn Objects).collect();
        content_differences(objects.as_slice(), changes)
    });
    task.await.unwrap_or_else(|panic| {
        tracing::error!(error = %panic, "a task panicked");
        let note = "could not compare the files; see the server's log";
        unseen.into_iter().map(|change| ContentDifference::new(change).with_note(note)).collect()
    })
}

/// Differences that are computed before a transaction begins: an open transaction blocks all other writes, and anyone
/// who can push controls how long the comparison takes.
#[derive(Debug, Default)]
pub(crate) struct ContentDifferences {
    differences: BTreeMap<ContentChange, ContentDifference>,
}

impl ContentDifferences {
    /// Compares the contents of these changes in the mirror in this directory.
    pub(crate) async fn compare_in_mirror(
        directory: PathBuf,
        changes: Vec<ContentChange>,
    ) -> ContentDifferences {
        let found = compare_contents(vec![directory], changes).await;
        let by_change = found.into_iter().map(|found| (found.change.clone(), found));
        ContentDifferences { differences: by_change.collect() }
    }

    /// The differences of these changes, each once. A change that was not compared gets a note: the accepted state
    /// changed meanwhile.
    pub(crate) fn of(&self, wanted: Vec<ContentChange>) -> Vec<ContentDifference> {
        let wanted: BTreeSet<ContentChange> = wanted.into_iter().collect();
        let known = |change: ContentChange| match self.differences.get(&change) {
            Some(known) => known.clone(),
            None => {
                let note = "not compared: the accepted state changed meanwhile";
                ContentDifference::new(change).with_note(note)
            }
        };
        wanted.into_iter().map(known).collect()
    }
}

/// The content that a later change of this repository may start from: accepted content, and declared content, which may
/// be accepted next.
pub(crate) fn contents_to_keep(
    desired: &Desired,
    accepted: &Accepted,
    repository: &Owner,
) -> BTreeSet<ContentId> {
    let declared = desired.resources.iter().map(|(_, _, declared)| &declared.spec);
    let owned = accepted
        .resources
        .iter()
        .filter(|(_, _, accepted)| accepted.owner == *repository || accepted.owner == Owner::Nobody);
    let specs = declared.chain(owned.map(|(_, _, accepted)| &accepted.spec));
    let mut kept = BTreeSet::new();
    specs.for_each(|spec| {
        kept.extend(spec.contents().into_values());
        // A version keeps its content when the module has moved on.
        if let Some(module) = spec.version_content() {
            module.repository_paths(&mut |path, _| kept.extend(path.content()));
        }
    });
    kept
}

/// Makes a repository's mirror keep content. If this fails, later differences show less; nothing else is affected.
pub(crate) async fn keep_contents(
    server: &Control,
    repository_id: &RepositoryId,
    contents: BTreeSet<ContentId>,
) {
    let directory = server.mirror_directory(repository_id);
    let task = tokio::task::spawn_blocking(move || Mirror::keep_contents_in(&directory, &contents));
    match task.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            let repository_id = repository_id.as_str();
            tracing::warn!(%error, repository_id, "cannot protect objects of a mirror from garbage collection");
        }
        Err(panic) => tracing::error!(error = %panic, "a task panicked"),
    }
}

/// Adds the known content of paths to a spec that someone wrote manually. Rejects a path whose content is not known:
/// files live in git, and nobody can review unknown content.
pub(crate) fn with_known_contents(spec: &Spec, known: &[&Spec]) -> Result<Spec, Box<Diagnostic>> {
    spec.with_contents_of(known).map_err(|unknown| {
        let kind = spec.kind();
        let message =
            format!("`{}` is a path in a repository, and its content is unknown here", unknown.join("`, `"));
        let help = "change the path in git; for a file of a module you can also give `content`";
        Box::new(Diagnostic::without_place(Code::PathMissing, kind.slug(), message).help(help))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str) -> ContentChange {
        ContentChange { path: path.to_owned(), before: None, after: ContentId::blob([1; 20]) }
    }

    #[test]
    fn a_content_diff_that_was_not_computed_before_has_a_note_instead() {
        let known = ContentDifference::new(change("a")).with_note("as it was looked up");
        let looked_up = ContentDifferences { differences: [(change("a"), known.clone())].into() };
        let found = looked_up.of(vec![change("b"), change("a"), change("a")]);
        assert_eq!(found.len(), 2, "each once");
        assert_eq!(found[0], known);
        assert!(
            found[1].note.as_deref().is_some_and(|note| note.contains("accepted state changed meanwhile"))
        );
    }
}
