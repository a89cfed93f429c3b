//! The fleet that a run compares with the accepted state: read from a commit, or as stored at the last good run.

use std::collections::BTreeSet;

use windlass_core::catalogue::KnownModules;
use windlass_core::code::ProblemSeverity;
use windlass_core::desired::{Declared, Desired};
use windlass_core::diagnostic::{self, Diagnostic};
use windlass_core::id::RepositoryId;
use windlass_core::manifest::{DeclarationOrigin, FLEET_FILE, Fleet, ReadCache, ReadContext};
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::resource_finding::ResourceFinding;
use windlass_source::{FileTree, FleetFiles, read_fleet, read_uncached_files};
use windlass_store::{Reading, StoreError};

/// The desired state, and the problems in its files.
pub(crate) struct FleetAtCommit {
    pub(crate) desired: Desired,
    /// Problems in the files, with places. Paths start at the repository's root.
    pub(crate) problems: Vec<Diagnostic>,
    /// The files, if they were just read.
    fleet: Option<Fleet>,
    /// Paths that resources name and that exist, but whose content is not known.
    pub(crate) unknown_contents: BTreeSet<String>,
    /// Whether pins of a stored fleet select other versions than when it was stored.
    has_moved_pins: bool,
    /// The files that declare the stored resources.
    files: ResourceMap<String>,
    prefix: String,
}

/// Where a run gets the desired state from.
pub(crate) enum FleetOrigin {
    /// From its files, which were just read.
    Read(Box<FleetAtCommit>),
    /// From the database, as stored at the last good run: the commit has not changed since.
    Stored,
}

/// The fleet of a tree, as it was read.
pub(crate) struct FleetRead {
    pub(crate) fleet: Fleet,
    problems: Vec<Diagnostic>,
    unknown_contents: BTreeSet<String>,
}

/// Reads the fleet of a tree. Blocks.
pub(crate) fn read_fleet_at(tree: &impl FileTree, context: &ReadContext) -> FleetRead {
    let mut cache = ReadCache::default();
    let FleetFiles { files, problems: unread } = read_fleet(tree, FLEET_FILE, &mut cache);
    read_uncached_files(&files, &mut cache);
    let mut fleet = cache.read_once(&files, context);
    let unknown_contents = FleetFiles::check_paths(tree, &mut fleet);
    if !unread.is_empty() {
        fleet.retract_not_found_problems();
    }
    let mut problems = unread;
    problems.append(&mut fleet.diagnostics);
    diagnostic::sort_diagnostics(&mut problems);
    FleetRead { fleet, problems, unknown_contents }
}

impl FleetAtCommit {
    /// Reads it from files. `prefix` is the fleet's directory in the repository.
    pub(crate) fn read(tree: &impl FileTree, context: &ReadContext, prefix: &str) -> FleetAtCommit {
        let FleetRead { mut fleet, problems, unknown_contents } = read_fleet_at(tree, context);
        let desired = std::mem::take(&mut fleet.desired);
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let mut fleet_at_commit = FleetAtCommit {
            desired,
            problems,
            fleet: Some(fleet),
            unknown_contents,
            ..FleetAtCommit::unchanged()
        };
        fleet_at_commit.prefix = prefix;
        name_files(&mut fleet_at_commit.problems, &fleet_at_commit.prefix);
        fleet_at_commit
    }

    /// Loads it as it was stored at the last good run.
    pub(crate) async fn load_stored(
        reading: &mut Reading,
        account: &str,
        repository_id: &RepositoryId,
    ) -> Result<FleetAtCommit, StoreError> {
        let mut desired = Desired { account: account.to_owned(), ..Desired::default() };
        let mut files = ResourceMap::default();
        let mut specs = reading.desired_specs(repository_id, None).await?;
        for wanted in reading.desired(repository_id).await? {
            let Some(spec) = specs.remove(wanted.key.kind, &wanted.key.name) else { continue };
            let declared =
                Declared { spec, digest: wanted.digest, file: 0, origin: DeclarationOrigin::nowhere() };
            files.insert(wanted.key.clone(), wanted.file);
            desired.resources.insert(wanted.key, declared);
        }
        Ok(FleetAtCommit { desired, files, ..FleetAtCommit::unchanged() })
    }

    /// For a commit that has not changed and is accepted completely: there is nothing to compare.
    pub(crate) fn unchanged() -> FleetAtCommit {
        FleetAtCommit {
            desired: Desired::default(),
            problems: Vec::new(),
            fleet: None,
            unknown_contents: BTreeSet::new(),
            has_moved_pins: false,
            files: ResourceMap::default(),
            prefix: String::new(),
        }
    }

    /// Converts it for another comparison, which loads a stored fleet again.
    pub(crate) fn into_known(self) -> FleetOrigin {
        match self.is_fresh() {
            true => FleetOrigin::Read(Box::new(self)),
            false => FleetOrigin::Stored,
        }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == ProblemSeverity::Error)
    }

    /// Adds problems that only the comparison found.
    pub(crate) fn add_problems(&mut self, findings: Vec<ResourceFinding>) {
        if findings.is_empty() {
            return;
        }
        let mut diagnostics = match &mut self.fleet {
            Some(fleet) => {
                std::mem::swap(&mut fleet.desired, &mut self.desired);
                let diagnostics = fleet.place_findings(findings);
                std::mem::swap(&mut fleet.desired, &mut self.desired);
                diagnostics
            }
            None => findings
                .into_iter()
                .map(|finding| {
                    Diagnostic::without_place(finding.code, finding.key.to_string(), finding.message)
                        .help(finding.help)
                })
                .collect(),
        };
        name_files(&mut diagnostics, &self.prefix);
        self.problems.append(&mut diagnostics);
        diagnostic::sort_diagnostics(&mut self.problems);
    }

    /// Where resources are declared: the file from the repository's root, and the line, or 0 if it is not known.
    pub(crate) fn declared_at(&mut self, keys: &[ResourceKey]) -> Vec<Option<(String, usize)>> {
        match &mut self.fleet {
            Some(fleet) => {
                std::mem::swap(&mut fleet.desired, &mut self.desired);
                let mut places = fleet.declared_at(keys);
                std::mem::swap(&mut fleet.desired, &mut self.desired);
                for (file, _) in places.iter_mut().flatten() {
                    file.insert_str(0, &self.prefix);
                }
                places
            }
            None => keys.iter().map(|key| Some((self.files.get(key.kind, &key.name)?.clone(), 0))).collect(),
        }
    }

    /// The file that declares a resource, from the repository's root.
    pub(crate) fn file_of(&self, key: (windlass_core::resource::Kind, &str), declared: &Declared) -> String {
        match &self.fleet {
            Some(fleet) => {
                let path = fleet.files.get(declared.file).map_or(FLEET_FILE, |file| file.path.as_str());
                format!("{}{path}", self.prefix)
            }
            None => self.files.get(key.0, key.1).cloned().unwrap_or_default(),
        }
    }

    /// Finds the versions that the pins of the fleet select.
    pub(crate) fn resolve_pins(&mut self, existing: &KnownModules) {
        let moved = self.desired.resolve_pins(existing);
        self.has_moved_pins = moved > 0 && !self.is_fresh();
    }

    /// Whether pins select other versions although the commit is the same.
    pub(crate) fn has_moved_pins(&self) -> bool {
        self.has_moved_pins
    }

    /// Whether the files were just read, so that the stored desired state may have to change.
    pub(crate) fn is_fresh(&self) -> bool {
        self.fleet.is_some()
    }
}

fn name_files(problems: &mut [Diagnostic], prefix: &str) {
    for problem in problems.iter_mut().filter(|problem| !problem.file.is_empty()) {
        problem.file.insert_str(0, prefix);
    }
}
