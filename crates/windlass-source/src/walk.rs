//! Searches directories for files: iteratively, only in directories that a pattern can match, and within a budget.
//!
//! Whoever can push decides the shape of directories. A tree that contains itself ten times, ten levels deep, has 10^10
//! paths and fits into a kilobyte; so every entry is counted when it is examined, before anything is stored.

use std::time::{Duration, Instant};

use windlass_core::manifest::Selection;

use crate::entry::{EntryKind, ReadError};

/// The longest name in bytes: current file systems do not support a longer one.
pub(crate) const MAX_NAME_BYTES: usize = 255;

/// The longest path in bytes.
pub(crate) const MAX_PATH_BYTES: usize = 4096;

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkLimits {
    /// Names that are examined, in all directories together.
    pub(crate) entries: usize,
    /// How deep directories may be nested.
    pub(crate) depth: usize,
    /// The total size of the paths that are found or still to be examined.
    pub(crate) path_bytes: usize,
    /// Files that are found; the search ends after one more.
    pub(crate) files: usize,
    /// The time limit.
    pub(crate) time: Duration,
}

impl Default for WalkLimits {
    /// Far more than a fleet needs.
    fn default() -> WalkLimits {
        WalkLimits {
            entries: 200_000,
            depth: 64,
            path_bytes: 16 << 20,
            files: windlass_core::manifest::MAX_FILES,
            time: Duration::from_secs(20),
        }
    }
}

/// A limit was exceeded. It becomes a problem of its own, because the fix is different from that of an unreadable file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WalkLimitExceeded(pub(crate) String);

impl WalkLimitExceeded {
    pub(crate) fn at(self, path: &str) -> ReadError {
        ReadError { path: path.to_owned(), source: Box::new(self) }
    }
}

/// A directory entry, with only as much detail as the listing has.
pub(crate) enum Child<Id> {
    /// A directory.
    Directory(Id),
    /// Any other entry.
    File(Id),
}

/// The entries of a directory, by name.
pub(crate) type Children<Id> = Vec<(String, Child<Id>)>;

/// Directories that can be searched.
pub(crate) trait Directories {
    /// Identifies a directory or a file.
    type Id;

    /// The entries of a directory. Fails if there are more than `at_most`.
    fn children(&self, path: &str, id: &Self::Id, at_most: usize) -> Result<Children<Self::Id>, ReadError>;

    /// The kind of an entry that is not a directory.
    fn kind(&self, path: &str, id: &Self::Id) -> Result<EntryKind, ReadError>;
}

/// The error for too many names in directories.
pub(crate) fn too_many_names(limit: usize) -> WalkLimitExceeded {
    WalkLimitExceeded(format!("the directories that `include` searches contain more than {limit} names"))
}

/// The error for a name that is too long.
pub(crate) fn name_too_long() -> WalkLimitExceeded {
    WalkLimitExceeded(format!("a name in it has more than {MAX_NAME_BYTES} bytes"))
}

/// The path of an entry. Fails before it is built if it would be too long.
fn path_of(directory: &str, name: String) -> Result<String, WalkLimitExceeded> {
    if name.len() > MAX_NAME_BYTES {
        return Err(name_too_long());
    }
    if directory.len() + 1 + name.len() > MAX_PATH_BYTES {
        return Err(WalkLimitExceeded(format!("a path in it has more than {MAX_PATH_BYTES} bytes")));
    }
    Ok(if directory.is_empty() { name } else { format!("{directory}/{name}") })
}

/// The selected files below a directory, sorted; at most one more than the limit.
pub(crate) fn walk<D: Directories>(
    directories: &D,
    root: D::Id,
    selection: &Selection,
    limits: WalkLimits,
) -> Result<Vec<(String, EntryKind)>, ReadError> {
    let begun = Instant::now();
    let (mut entries, mut path_bytes) = (0, 0);
    let mut found = Vec::new();
    let mut pending = vec![(String::new(), 0, root)];
    'directories: while let Some((directory, depth, id)) = pending.pop() {
        let children = directories.children(&directory, &id, limits.entries - entries)?;
        entries += children.len();
        for (name, child) in children {
            // Checked before each name: a single directory can exceed every limit.
            check(path_bytes, begun, &limits).map_err(|reason| reason.at(shortened(&directory)))?;
            let path = path_of(&directory, name).map_err(|reason| reason.at(shortened(&directory)))?;
            match child {
                Child::Directory(id) if selection.may_contain_match(&path) => {
                    path_bytes += path.len();
                    if depth + 1 > limits.depth {
                        let reason = format!("its directories are nested more than {} deep", limits.depth);
                        return Err(WalkLimitExceeded(reason).at(shortened(&path)));
                    }
                    pending.push((path, depth + 1, id));
                }
                Child::File(id) if selection.matches(&path) => {
                    path_bytes += path.len();
                    found.push((path, id));
                    if found.len() > limits.files {
                        break 'directories;
                    }
                }
                Child::Directory(_) | Child::File(_) => {}
            }
        }
    }
    let with_kind = found.into_iter().map(|(path, id)| {
        let kind = directories.kind(&path, &id)?;
        Ok((path, kind))
    });
    let mut found = with_kind.collect::<Result<Vec<_>, ReadError>>()?;
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

fn check(path_bytes: usize, begun: Instant, limits: &WalkLimits) -> Result<(), WalkLimitExceeded> {
    if path_bytes > limits.path_bytes {
        return Err(WalkLimitExceeded(format!(
            "the paths in it have more than {} MiB",
            limits.path_bytes >> 20
        )));
    }
    if begun.elapsed() > limits.time {
        return Err(WalkLimitExceeded(format!(
            "searching for files took more than {} s",
            limits.time.as_secs()
        )));
    }
    Ok(())
}

/// The beginning of a path, for messages.
fn shortened(path: &str) -> &str {
    let end = (0..=path.len().min(200)).rev().find(|end| path.is_char_boundary(*end));
    &path[..end.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use std::cell::Cell;

    use windlass_core::manifest::IncludePattern;
    use windlass_core::shape::TextValue as _;

    use super::*;

    /// Every directory contains this many directories and one file, without end.
    struct Endless {
        wide: usize,
        looked: Cell<usize>,
    }

    impl Directories for Endless {
        type Id = ();

        fn children(&self, _: &str, (): &(), at_most: usize) -> Result<Children<()>, ReadError> {
            self.looked.set(self.looked.get() + 1);
            if self.wide + 1 > at_most {
                return Err(too_many_names(at_most).at(""));
            }
            let mut all: Vec<_> =
                (0..self.wide).map(|nth| (format!("d{nth}"), Child::Directory(()))).collect();
            all.push(("a.yaml".to_owned(), Child::File(())));
            Ok(all)
        }

        fn kind(&self, _: &str, (): &()) -> Result<EntryKind, ReadError> {
            Ok(EntryKind::File(1))
        }
    }

    fn look(wide: usize, pattern: &str, limits: WalkLimits) -> (Result<usize, String>, usize) {
        let endless = Endless { wide, looked: Cell::new(0) };
        let selection = Selection::of(&[IncludePattern::read(pattern).unwrap()]);
        let found = walk(&endless, (), &selection, limits);
        let found = found.map(|found| found.len()).map_err(|error| error.source.to_string());
        (found, endless.looked.get())
    }

    #[test]
    fn what_has_no_end_is_refused_by_the_first_budget_that_is_spent() {
        let limits = WalkLimits { files: usize::MAX - 1, ..WalkLimits::default() };
        let deep = look(1, "**/*.yaml", limits);
        assert_eq!(deep.0, Err("its directories are nested more than 64 deep".to_owned()));
        let wide = look(50_000, "**/*.yaml", WalkLimits { depth: usize::MAX, ..limits });
        assert!(wide.0.unwrap_err().contains("names"));
        let long = WalkLimits { depth: usize::MAX, path_bytes: 1 << 20, ..limits };
        assert!(look(1, "**/*.txt", long).0.unwrap_err().contains("1 MiB"));
        let endless = WalkLimits { depth: usize::MAX, ..limits };
        assert!(
            look(1, "**/*.txt", endless).0.unwrap_err().contains("a path in it has more than 4096 bytes")
        );
        let late = WalkLimits { time: Duration::ZERO, ..limits };
        assert!(look(1, "**/*.yaml", late).0.unwrap_err().contains("took more"));
    }

    /// One directory with this many files, whose names have this many bytes.
    struct OneDirectory {
        files: usize,
        name_bytes: usize,
        /// How often the kind of an entry was requested.
        asked: Cell<usize>,
    }

    impl Directories for OneDirectory {
        type Id = ();

        fn children(&self, _: &str, (): &(), _: usize) -> Result<Children<()>, ReadError> {
            let name = |nth: usize| (format!("{nth:0width$}", width = self.name_bytes), Child::File(()));
            Ok((0..self.files).map(name).collect())
        }

        fn kind(&self, _: &str, (): &()) -> Result<EntryKind, ReadError> {
            self.asked.set(self.asked.get() + 1);
            Ok(EntryKind::File(1))
        }
    }

    fn look_into(files: usize, name_bytes: usize, limits: WalkLimits) -> (Result<usize, String>, usize) {
        let one = OneDirectory { files, name_bytes, asked: Cell::new(0) };
        let selection = Selection::of(&[IncludePattern::read("*").unwrap()]);
        let found = walk(&one, (), &selection, limits);
        (found.map(|found| found.len()).map_err(|error| error.source.to_string()), one.asked.get())
    }

    #[test]
    fn every_limit_applies_within_a_single_directory() {
        let limits = WalkLimits { files: usize::MAX - 1, ..WalkLimits::default() };
        assert_eq!(look_into(3, MAX_NAME_BYTES, limits).0, Ok(3));
        let long = look_into(3, MAX_NAME_BYTES + 1, limits).0;
        assert_eq!(long, Err("a name in it has more than 255 bytes".to_owned()));
        let few_bytes = WalkLimits { path_bytes: 1 << 20, ..limits };
        assert!(look_into(200_000, 255, few_bytes).0.unwrap_err().contains("1 MiB"));
        let late = WalkLimits { time: Duration::ZERO, ..limits };
        assert!(look_into(1, 1, late).0.unwrap_err().contains("took more"));
        assert_eq!(look_into(200_000, 10, WalkLimits { files: 3, ..limits }), (Ok(4), 4));
    }

    #[test]
    fn looking_ends_with_one_file_too_many_and_starts_only_where_something_can_be() {
        let limits = WalkLimits { files: 3, ..WalkLimits::default() };
        assert_eq!(look(1, "**/*.yaml", limits).0, Ok(4));
        assert_eq!(look(10, "d1/d2/*.yaml", limits), (Ok(1), 3));
        assert_eq!(look(10, "*.yaml", limits), (Ok(1), 1));
    }
}
