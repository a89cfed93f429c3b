//! From a document to its items: which blobs it needs, and the state that they make together.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::host::{
    BlobDigest, HostState, MAX_PACKAGE_BYTES, ModulePackage, NodeDocument, PackageProblem,
};

use crate::cache::BlobCache;
use crate::state::StateError;

/// A blob that a document needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WantedBlob {
    pub(crate) digest: BlobDigest,
    /// The most bytes that it may have.
    pub(crate) limit: u64,
}

/// Why a document cannot become a state.
#[derive(Debug)]
pub(crate) enum ComposeProblem {
    /// Blobs are missing or damaged. The agent fetches them.
    Missing(Vec<WantedBlob>),
    /// A package is not one, though its digest is right.
    BadPackage(String, PackageProblem),
    /// The modules do not fit together.
    Host(String),
    /// The cache cannot be read.
    State(StateError),
}

impl From<StateError> for ComposeProblem {
    fn from(error: StateError) -> ComposeProblem {
        ComposeProblem::State(error)
    }
}

impl std::fmt::Display for ComposeProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ComposeProblem::Missing(blobs) => {
                write!(
                    f,
                    "{} blobs of the assignment are missing or damaged; the agent fetches them again",
                    blobs.len()
                )
            }
            ComposeProblem::BadPackage(module, problem) => write!(f, "module {module}: {problem}"),
            ComposeProblem::Host(problem) => f.write_str(problem),
            ComposeProblem::State(error) => f.write_str(&error.with_cause()),
        }
    }
}

type Packages = BTreeMap<BlobDigest, ModulePackage>;

/// The packages of a document, or those that are missing.
fn packages(cache: &BlobCache, document: &NodeDocument) -> Result<Packages, ComposeProblem> {
    let (mut packages, mut missing) = (Packages::new(), Vec::new());
    for module in &document.modules {
        match cache.package(&module.package)? {
            None => missing.push(WantedBlob { digest: module.package, limit: MAX_PACKAGE_BYTES as u64 }),
            Some(bytes) => {
                let package = ModulePackage::from_bytes(&bytes)
                    .map_err(|problem| ComposeProblem::BadPackage(module.name.clone(), problem))?;
                packages.insert(module.package, package);
            }
        }
    }
    match missing.is_empty() {
        true => Ok(packages),
        false => Err(ComposeProblem::Missing(missing)),
    }
}

/// The blobs of a document that are not in the cache: first packages, then the files that they name.
pub(super) fn missing_blobs(
    cache: &BlobCache,
    document: &NodeDocument,
) -> Result<Vec<WantedBlob>, ComposeProblem> {
    let packages = match packages(cache, document) {
        Err(ComposeProblem::Missing(missing)) => return Ok(missing),
        packages => packages?,
    };
    let mut missing: Vec<WantedBlob> = Vec::new();
    for file in packages.values().flat_map(|package| package.files.values()) {
        let is_listed = missing.iter().any(|wanted| wanted.digest == file.digest);
        if !is_listed && !cache.has(&file.digest)? {
            missing.push(WantedBlob { digest: file.digest, limit: file.size });
        }
    }
    Ok(missing)
}

/// The state of a document.
pub(super) fn compose(cache: &BlobCache, document: &NodeDocument) -> Result<HostState, ComposeProblem> {
    let packages = packages(cache, document)?;
    HostState::compose(document, &packages).map_err(|problems| {
        let shown: Vec<String> = problems.iter().take(3).map(ToString::to_string).collect();
        let more = problems.len().saturating_sub(shown.len());
        let more = if more == 0 { String::new() } else { format!("; and {more} more") };
        ComposeProblem::Host(shown.join("; ") + &more)
    })
}

/// Every blob that a document uses, as far as its packages are there.
pub(super) fn used_blobs(cache: &BlobCache, document: &NodeDocument) -> BTreeSet<BlobDigest> {
    let mut used: BTreeSet<BlobDigest> = document.modules.iter().map(|module| module.package).collect();
    for module in &document.modules {
        let package = cache.package(&module.package).ok().flatten();
        let package = package.and_then(|bytes| ModulePackage::from_bytes(&bytes).ok());
        used.extend(package.iter().flat_map(|package| package.files.values()).map(|file| file.digest));
    }
    used
}
