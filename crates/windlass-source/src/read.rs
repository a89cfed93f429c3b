//! Reads the files of a fleet from a tree.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::code::Code;
use windlass_core::diagnostic::{self, Diagnostic};
use windlass_core::manifest::{
    FLEET_FILE, Fleet, IncludePattern, MAX_FILES, MAX_TOTAL_BYTES, ReadCache, Selection, SourceFile,
};
use windlass_core::yaml::MAX_FILE_BYTES;

use crate::content::PathContent;
use crate::entry::{EntryKind, ReadError};
use crate::tree::FileTree;
use crate::walk::WalkLimitExceeded;

/// The files of a fleet, root first, and the problems of reading the others.
#[derive(Debug, Default)]
pub struct FleetFiles {
    /// The files that were read. The first is fleet.yaml; empty if it could not be read.
    pub files: Vec<SourceFile>,
    /// The problems of files that were rejected or could not be read.
    pub problems: Vec<Diagnostic>,
}

/// Reads fleet.yaml (or another root file) and all included files. Files in the cache are not read again.
pub fn read_fleet(tree: &impl FileTree, root: &str, cache: &mut ReadCache) -> FleetFiles {
    let mut fleet = FleetFiles::default();
    let Some(root_bytes) = read_one(tree, root, &mut fleet.problems) else { return fleet };
    let mut total = root_bytes.len();
    let root_file = SourceFile::new(root, root_bytes);
    let patterns = cache.includes_of(&root_file);
    fleet.files.push(root_file);
    if patterns.is_empty() {
        return fleet;
    }
    let listed = match list_for(tree, root, &patterns, &mut fleet.problems) {
        Ok(listed) => listed,
        Err(error) => {
            fleet.problems.push(unreadable(root, &error));
            return fleet;
        }
    };
    if listed.len() >= MAX_FILES {
        let message = format!("the fleet has more than {MAX_FILES} files");
        fleet
            .problems
            .push(Diagnostic::with_file(Code::FilesTooMany, root, message).help("use fewer, larger files"));
        return fleet;
    }
    for (path, kind) in listed {
        // Counted before it is read, so that content above the limit is never in memory.
        if let EntryKind::File(size) = kind {
            total = total.saturating_add(usize::try_from(size).unwrap_or(usize::MAX).min(MAX_FILE_BYTES));
        }
        if total > MAX_TOTAL_BYTES {
            let message = "the fleet's files have more than 64 MiB together";
            let help = "split the fleet into several repositories";
            fleet.problems.push(Diagnostic::with_file(Code::FilesTooLarge, root, message).help(help));
            return fleet;
        }
        if let Some(bytes) = read_one(tree, &path, &mut fleet.problems) {
            fleet.files.push(SourceFile::new(path, bytes));
        }
    }
    fleet
}

/// The included files, without the root file.
fn list_for(
    tree: &impl FileTree,
    root: &str,
    patterns: &[IncludePattern],
    problems: &mut Vec<Diagnostic>,
) -> Result<Vec<(String, EntryKind)>, ReadError> {
    let directories: BTreeSet<String> = patterns.iter().map(fixed_directory).collect();
    for directory in &directories {
        if tree.entry(directory)? == Some(EntryKind::Other) {
            problems.push(not_regular(directory));
        }
    }
    let mut listed = tree.list(&Selection::of(patterns))?;
    listed.retain(|(path, _)| path != root);
    Ok(listed)
}

/// The directory of a pattern before its first wildcard.
fn fixed_directory(pattern: &IncludePattern) -> String {
    let text = pattern.to_string();
    let fixed = text.split(['*', '?', '[', '{']).next().unwrap_or_default();
    fixed.rsplit_once('/').map_or(String::new(), |(directory, _)| directory.to_owned())
}

fn read_one(tree: &impl FileTree, path: &str, problems: &mut Vec<Diagnostic>) -> Option<Vec<u8>> {
    let refuse = |code, message: &str, help: &str| Diagnostic::with_file(code, path, message).help(help);
    let problem = match tree.entry(path) {
        Ok(Some(EntryKind::File(size))) if size as usize <= MAX_FILE_BYTES => match tree.read(path) {
            Ok(bytes) => return Some(bytes),
            Err(error) => unreadable(FLEET_FILE, &error),
        },
        Ok(Some(EntryKind::File(size))) => refuse(
            Code::FileTooLarge,
            &format!("the file has {size} bytes, more than the 1 MiB limit"),
            "check for committed binary data, or split the fleet into files and `include` them",
        ),
        Ok(Some(EntryKind::Directory)) => {
            refuse(Code::FileUnreadable, "this is a directory", "use a file instead")
        }
        Ok(Some(EntryKind::Other)) => not_regular(path),
        Ok(None) => refuse(
            Code::FileMissing,
            &format!("{path} does not exist"),
            &format!("give a directory with a {FLEET_FILE}, or the file itself"),
        ),
        Err(error) => unreadable(FLEET_FILE, &error),
    };
    problems.push(problem);
    None
}

fn not_regular(path: &str) -> Diagnostic {
    Diagnostic::with_file(Code::FileNotRegular, path, "symbolic links and submodules are not allowed")
        .help("commit the content itself")
}

/// The problem for something that could not be read; `root` is the file that refers to it.
pub fn unreadable(root: &str, error: &ReadError) -> Diagnostic {
    if let Some(WalkLimitExceeded(reason)) = error.source.downcast_ref() {
        // Placed at `include`: the path names a directory, which may be endless.
        let place = if error.path.is_empty() { String::new() } else { format!(", at {}", error.path) };
        let message = format!("stopped reading the repository: {reason}{place}");
        return Diagnostic::with_file(Code::TreeTooLarge, root, message).help(
            "name only the directories with fleet files in `include`; check who created these directories",
        );
    }
    Diagnostic::with_file(Code::FileUnreadable, &error.path, format!("could not be read: {}", error.source))
        .help("check that it exists and is readable")
}

impl FleetFiles {
    /// Looks up the content at the paths that the fleet's resources name, and adds a problem for each missing path.
    /// Each path is looked up once, however many resources name it. Returns the paths of which only the existence is
    /// known.
    pub fn check_paths(tree: &impl FileTree, fleet: &mut Fleet) -> BTreeSet<String> {
        let mut found: BTreeMap<String, PathContent> = BTreeMap::new();
        let mut unread: Vec<Diagnostic> = Vec::new();
        let root = fleet.files.first().map_or(FLEET_FILE, |root| root.path.as_str()).to_owned();
        let mut missing = fleet.repository_paths();
        missing.retain(|needed| {
            let content = found.get(&needed.path).copied().unwrap_or_else(|| {
                let content = tree.content(&needed.path).unwrap_or_else(|error| {
                    let problem = unreadable(&root, &error);
                    // When a budget is used up, every further path fails for the same reason.
                    if problem.code != Code::TreeTooLarge || unread.iter().all(|it| it.code != problem.code) {
                        unread.push(problem);
                    }
                    PathContent::Unknown
                });
                found.insert(needed.path.clone(), content);
                content
            });
            content == PathContent::Nothing
        });
        let known = |(path, content): (&String, &PathContent)| match content {
            PathContent::Known(id) => Some((path.clone(), *id)),
            PathContent::Nothing | PathContent::Unknown => None,
        };
        fleet.note_contents(&found.iter().filter_map(known).collect());
        if !unread.is_empty() {
            fleet.diagnostics.append(&mut unread);
            diagnostic::sort_diagnostics(&mut fleet.diagnostics);
        }
        if !missing.is_empty() {
            fleet.report_missing_paths(missing);
        }
        found.retain(|_, content| *content == PathContent::Unknown);
        found.into_keys().collect()
    }
}
