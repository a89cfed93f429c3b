//! Reading a fleet from where the command line says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use windlass_core::content::ContentId;
use windlass_core::diagnostic::{self, Diagnostic};
use windlass_core::manifest::{FLEET_FILE, Fleet, ReadCache, ReadContext, SourceFile};
use windlass_core::resource_finding::ResourceFinding;
use windlass_source::{
    DiskTree, FileTree, FleetFiles, GitTree, Objects, PathContent, read_fleet, read_uncached_files,
    unreadable,
};

use crate::exit::CommandError;

/// A fleet with its problems, as the command line names its files.
pub(super) struct LoadedFleet {
    /// The fleet; its own problems are in `problems`.
    pub(super) fleet: Fleet,
    /// Every problem, files named as seen from the current directory.
    pub(super) problems: Vec<Diagnostic>,
    /// What stands at the paths that its resources name.
    pub(super) objects: Box<dyn Objects>,
    /// What goes before a file of the fleet to name it on the command line.
    prefix: String,
}

impl LoadedFleet {
    /// Whether anything stops a plan.
    pub(super) fn has_errors(&self) -> bool {
        diagnostic::has_errors(&self.problems)
    }

    /// Problems with resources, with files named as seen from the current directory.
    pub(super) fn tell(&self, remarks: Vec<ResourceFinding>) -> Vec<Diagnostic> {
        let mut problems = self.fleet.place_findings(remarks);
        name_files(&mut problems, &self.prefix);
        problems
    }

    /// The text of a file by the name its problems carry.
    pub(super) fn text(&self, file: &str) -> Option<&str> {
        self.fleet.text(file.strip_prefix(&self.prefix)?)
    }
}

/// Where a path on the command line points: a directory and the root file in it.
pub(super) fn split(path: &Path) -> (PathBuf, String) {
    if path.is_dir() {
        return (path.to_path_buf(), FLEET_FILE.to_owned());
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => (or_here(parent), name.to_string_lossy().into_owned()),
        _ => (path.to_path_buf(), FLEET_FILE.to_owned()),
    }
}

fn or_here(parent: &Path) -> PathBuf {
    if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_path_buf() }
}

/// The files of a fleet, read but not yet joined: what takes the time and depends on nothing else.
pub(super) struct FleetFilesRead<T> {
    tree: T,
    files: FleetFiles,
    memo: ReadCache,
    prefix: String,
}

/// Reads the fleet at a path.
pub(super) fn from_path(path: &Path, context: &ReadContext) -> LoadedFleet {
    read_path(path).join(context)
}

/// Reads the files of the fleet at a path.
pub(super) fn read_path(path: &Path) -> FleetFilesRead<DiskTree> {
    let (directory, root) = split(path);
    let shown = directory.to_string_lossy();
    let prefix = match shown.as_ref() {
        "." => String::new(),
        shown if shown.ends_with('/') => shown.to_owned(),
        shown => format!("{shown}/"),
    };
    FleetFilesRead::new(DiskTree::new(&directory), &root, prefix)
}

/// Reads the fleet at a path as it was at a git revision.
pub(super) fn from_revision(
    path: &Path,
    revision: &str,
    context: &ReadContext,
) -> Result<LoadedFleet, CommandError> {
    let (directory, root) = split(path);
    let tree = GitTree::open(&directory, revision).map_err(|error| {
        let help = "--from takes a directory, a file or a git revision such as `main` or `HEAD~1`";
        CommandError::failed(error.to_string(), help).because(error)
    })?;
    Ok(FleetFilesRead::new(tree, &root, format!("{revision}:")).join(context))
}

/// The files of a fleet as they are, to be sent to a server that joins them.
pub(super) struct FilesToSend {
    /// The files, paths from the fleet's directory.
    pub(super) files: Vec<SourceFile>,
    /// What stood in the way of reading others, files named as seen from the current directory.
    pub(super) problems: Vec<Diagnostic>,
    /// Other paths that the fleet names and that are there, with git's ids of what stands at them.
    pub(super) contents: BTreeMap<String, ContentId>,
    /// The root file.
    pub(super) root: String,
    /// What goes before a file of the fleet to name it on the command line.
    pub(super) prefix: String,
    fleet: Fleet,
}

impl FilesToSend {
    /// The text of a file by the name its problems carry.
    pub(super) fn text(&self, file: &str) -> Option<&str> {
        self.fleet.text(file.strip_prefix(&self.prefix)?)
    }
}

/// Reads the files of the fleet at a path, and which of the paths that it names are there.
pub(super) fn read_files_to_send(path: &Path) -> FilesToSend {
    let (_, root) = split(path);
    let FleetFilesRead { tree, files, memo, prefix } = read_path(path);
    let FleetFiles { files, mut problems } = files;
    let fleet = memo.read_once(&files, &ReadContext::offline());
    let needed: BTreeSet<String> = fleet.repository_paths().into_iter().map(|needed| needed.path).collect();
    let mut contents = BTreeMap::new();
    for path in needed {
        match tree.content(&path) {
            Ok(PathContent::Known(id)) => drop(contents.insert(plain(&path), id)),
            Ok(PathContent::Nothing | PathContent::Unknown) => {}
            Err(error) => problems.push(unreadable(&root, &error)),
        }
    }
    name_files(&mut problems, &prefix);
    FilesToSend { files, problems, contents, root, prefix, fleet }
}

/// A path without what may be left out of it.
fn plain(path: &str) -> String {
    path.strip_prefix("./").unwrap_or(path).trim_end_matches('/').to_owned()
}

impl<T: FileTree + Objects + 'static> FleetFilesRead<T> {
    fn new(tree: T, root: &str, prefix: String) -> FleetFilesRead<T> {
        let mut memo = ReadCache::default();
        let files = read_fleet(&tree, root, &mut memo);
        read_uncached_files(&files.files, &mut memo);
        FleetFilesRead { tree, files, memo, prefix }
    }

    /// Joins the files into a fleet and checks it.
    pub(super) fn join(self, context: &ReadContext) -> LoadedFleet {
        let FleetFiles { files, problems: unread } = self.files;
        let mut fleet = self.memo.read_once(&files, context);
        FleetFiles::check_paths(&self.tree, &mut fleet);
        if !unread.is_empty() {
            fleet.retract_not_found_problems();
        }
        let mut problems: Vec<Diagnostic> = unread;
        problems.append(&mut fleet.diagnostics);
        name_files(&mut problems, &self.prefix);
        diagnostic::sort_diagnostics(&mut problems);
        LoadedFleet { fleet, problems, objects: Box::new(self.tree), prefix: self.prefix }
    }
}

fn name_files(problems: &mut [Diagnostic], prefix: &str) {
    for problem in problems.iter_mut().filter(|problem| !problem.file.is_empty()) {
        problem.file.insert_str(0, prefix);
    }
}

/// The context of the command line: no server, and the account that was asked for.
pub(super) fn context(accounts: &[String]) -> ReadContext {
    let account = (!accounts.is_empty()).then(|| accounts.to_vec());
    ReadContext { account, ..ReadContext::offline() }
}
