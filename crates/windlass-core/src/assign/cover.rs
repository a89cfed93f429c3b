//! Which approvals cover what a node's document is made of.

use std::collections::BTreeMap;
use std::fmt;

use crate::accepted::Accepted;
use crate::digest::Digest;
use crate::host::{BlobDigest, ModulePackage, ModuleVersions, NodeModule, ResolvedNode};
use crate::resource::{Kind, ResourceKey, ResourceMap};
use crate::target_assignment::{CoveredResource, CoveringApproval};

/// Why a resource was accepted, as it was recorded when it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedApproval {
    /// The digest that was accepted. It covers nothing else: content that was changed behind the server's back has
    /// another digest.
    pub digest: Digest,
    /// Why.
    pub approval: CoveringApproval,
}

/// The accepted state of an account with the content of its modules and the approvals of all of it.
#[derive(Clone, Debug, Default)]
pub struct ApprovedFleet {
    /// The accepted resources.
    pub accepted: Accepted,
    /// Why each was accepted.
    pub approvals: ResourceMap<RecordedApproval>,
    /// The versions of the modules.
    pub versions: ModuleVersions,
    /// Their content.
    pub packages: BTreeMap<BlobDigest, ModulePackage>,
    /// The modules that were approved with this content.
    pub modules: BTreeMap<BlobDigest, CoveredResource>,
    /// The modules whose content is not at hand, each with the reason.
    pub unavailable: BTreeMap<String, String>,
}

/// Why a node cannot get a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoverProblem {
    /// No approval covers a resource.
    NotCovered(ResourceKey),
    /// The content of a module is not at hand.
    ContentMissing {
        /// The module.
        module: String,
        /// Why, if it is known.
        reason: Option<String>,
    },
}

impl fmt::Display for CoverProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CoverProblem::NotCovered(key) => write!(f, "no approval covers {key}"),
            CoverProblem::ContentMissing { reason: Some(reason), .. } => f.write_str(reason),
            CoverProblem::ContentMissing { module, reason: None } => {
                write!(f, "the content of module {module} is missing")
            }
        }
    }
}

/// The resources that a node's document is made of, each with its approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeCover {
    /// The node and its module assignments.
    pub(super) own: Vec<CoveredResource>,
    /// Its templates and modules, which other nodes have too.
    pub(super) shared: Vec<CoveredResource>,
}

impl ApprovedFleet {
    /// The approvals of everything that a node's document is made of.
    pub(super) fn cover(&self, name: &str, node: &ResolvedNode) -> Result<NodeCover, CoverProblem> {
        let assignments = node.assignments.iter().map(|name| (Kind::Assignment, name.as_str()));
        let own = std::iter::once((Kind::Node, name)).chain(assignments);
        let own = own.map(|(kind, name)| self.covered(kind, name)).collect::<Result<_, _>>()?;
        let templates = node.templates.iter().map(|name| self.covered(Kind::Template, name));
        let modules = node.document.modules.iter().map(|module| self.covered_module(module));
        Ok(NodeCover { own, shared: templates.chain(modules).collect::<Result<_, _>>()? })
    }

    fn covered(&self, kind: Kind, name: &str) -> Result<CoveredResource, CoverProblem> {
        let accepted = self.accepted.resources.get(kind, name);
        let recorded = self.approvals.get(kind, name);
        let covering = recorded.filter(|recorded| {
            accepted.is_some_and(|accepted| accepted.digest == recorded.digest)
                && recorded.approval.is_given()
        });
        let key = ResourceKey::new(kind, name);
        match covering {
            Some(RecordedApproval { digest, approval }) => Ok(CoveredResource {
                resource: key,
                digest: *digest,
                package: None,
                approval: approval.clone(),
            }),
            None => Err(CoverProblem::NotCovered(key)),
        }
    }

    fn covered_module(&self, module: &NodeModule) -> Result<CoveredResource, CoverProblem> {
        if !self.packages.contains_key(&module.package) {
            let reason = self.unavailable.get(&module.name).cloned();
            return Err(CoverProblem::ContentMissing { module: module.name.clone(), reason });
        }
        let covered = self.modules.get(&module.package).filter(|covered| covered.approval.is_given());
        let key = || ResourceKey::new(Kind::Module, module.name.clone());
        covered.cloned().ok_or_else(|| CoverProblem::NotCovered(key()))
    }
}
