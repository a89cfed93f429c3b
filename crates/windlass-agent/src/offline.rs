//! Applying a document by hand, without a server: for tests, for people, and for a host that is cut off.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use windlass_core::host::{BlobDigest, BlobRef, HostState, ModulePackage, NodeDocument};

use crate::error::AgentError;
use crate::options::AgentTarget;
use crate::state::StateFiles;
use crate::surroundings::DiskHooks;
use crate::target::host::{BlobSource, HostTarget, MachineServices, RunReport, Scope};

/// The most files that are read from a directory of packages.
const MAX_FILES: usize = 10_000;
/// The largest document.
const MAX_DOCUMENT: u64 = 16 * 1024 * 1024;

/// Whether the host is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfflineEffects {
    /// Make the state true.
    Apply,
    /// Only say what would change.
    DryRun,
}

/// What is applied, and where.
#[derive(Clone, Debug)]
pub struct OfflineInput {
    /// The node's document as JSON.
    pub document: PathBuf,
    /// A directory with module packages and the files that they name, under any names: they are found by their content.
    pub packages: PathBuf,
    /// The host.
    pub target: AgentTarget,
    /// The state directory of the agent.
    pub state_dir: PathBuf,
}

/// Applies a document, or says what that would change.
pub fn apply_offline(input: &OfflineInput, effects: OfflineEffects) -> Result<RunReport, AgentError> {
    let unusable =
        |path: &Path, problem: String| AgentError::Input { path: path.display().to_string(), problem };
    let mut bytes = Vec::new();
    fs::File::open(&input.document)
        .and_then(|file| file.take(MAX_DOCUMENT).read_to_end(&mut bytes))
        .map_err(|error| unusable(&input.document, error.to_string()))?;
    let document = NodeDocument::from_bytes(&bytes)
        .map_err(|error| unusable(&input.document, format!("this is not a node's document: {error}")))?;
    let files =
        ContentFiles::read(&input.packages).map_err(|error| unusable(&input.packages, error.to_string()))?;
    let mut packages = BTreeMap::new();
    for module in &document.modules {
        let missing =
            || unusable(&input.packages, format!("the package of module {} is missing", module.name));
        let path = files.0.get(&module.package).ok_or_else(missing)?;
        let bytes = fs::read(path).map_err(|error| unusable(path, error.to_string()))?;
        let package =
            ModulePackage::from_bytes(&bytes).map_err(|problem| unusable(path, problem.to_string()))?;
        packages.insert(module.package, package);
    }
    let state = HostState::compose(&document, &packages).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        unusable(&input.document, problems.join("; "))
    })?;
    let own = StateFiles::open(&input.state_dir, DiskHooks::default())?;
    let state_dir = own.path("host");
    let host = match &input.target {
        AgentTarget::Machine(kind) => {
            HostTarget::machine(&state_dir, &files, MachineServices::open(*kind, &state_dir)?)?
        }
        AgentTarget::Tree(root) => HostTarget::tree(root, &state_dir, &files)?,
    };
    Ok(match effects {
        OfflineEffects::Apply => host.apply(&document, &state, Scope::WholeState)?,
        OfflineEffects::DryRun => host.dry_run(&document, &state, Scope::WholeState)?,
    })
}

/// The files of a directory, by their digests.
struct ContentFiles(BTreeMap<BlobDigest, PathBuf>);

impl ContentFiles {
    fn read(directory: &Path) -> io::Result<ContentFiles> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(directory)?.take(MAX_FILES) {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                let mut hasher = blake3::Hasher::new();
                io::copy(&mut fs::File::open(entry.path())?, &mut hasher)?;
                files.insert(BlobDigest::from_hasher(&hasher), entry.path());
            }
        }
        Ok(ContentFiles(files))
    }
}

impl BlobSource for ContentFiles {
    fn open(&self, blob: &BlobRef) -> io::Result<Box<dyn Read + '_>> {
        let path = self.0.get(&blob.digest).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(fs::File::open(path)?))
    }
}
