//! Decides for every node of an account: a new document, nothing new, or a reason why it keeps what it has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cover::{ApprovedFleet, NodeCover};
use crate::digest::Digest;
use crate::host::{ComposeKeys, HostProblem, HostState, NodeDocument, NodeResolver};
use crate::resource::Kind;
use crate::secret;
use crate::target_assignment::CoveredResource;

/// The longest reason that is kept.
const MAX_REASON_CHARS: usize = 2_000;

/// What is assigned to the nodes of an account already.
#[derive(Clone, Debug, Default)]
pub struct AssignedBefore {
    /// The digest of each node's document, by the node's name. Nodes that were destroyed are among them.
    pub documents: BTreeMap<String, Digest>,
    /// The nodes that have an agent.
    pub enrolled: BTreeSet<String>,
}

/// A new document of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAssignment {
    /// The node.
    pub node: String,
    /// Its document, as it is stored, sent and signed.
    pub document: String,
    /// The digest of the document.
    pub digest: Digest,
    /// The node and its module assignments, each with its approval, as JSON.
    pub own: String,
    /// Its templates and modules, each with its approval, as JSON. Nodes of one template share the text.
    pub shared: Arc<str>,
}

/// What to store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssignDecision {
    /// The nodes whose documents are new.
    pub changed: Vec<NodeAssignment>,
    /// Nodes that keep what they have, each with the reason.
    pub problems: BTreeMap<String, String>,
    /// Nodes that were destroyed and have no agent: their assignments end.
    pub ended: Vec<String>,
}

/// Decides for every node. A node that was destroyed and has an agent gets a document without modules, so that the agent
/// removes what it made.
pub fn assign_nodes(fleet: &ApprovedFleet, before: &AssignedBefore) -> AssignDecision {
    let mut decision = AssignDecision::default();
    let mut deciding = Deciding::new(fleet);
    for (node, _) in fleet.accepted.resources.of_kind(Kind::Node) {
        match deciding.node(node, before.documents.get(node)) {
            Ok(changed) => decision.changed.extend(changed),
            Err(reason) => {
                let reason = secret::without_secrets(&reason);
                let reason = reason.chars().take(MAX_REASON_CHARS).collect();
                decision.problems.insert(node.to_owned(), reason);
            }
        }
    }
    for (node, assigned) in &before.documents {
        if fleet.accepted.resources.contains(Kind::Node, node) {
            continue;
        }
        match before.enrolled.contains(node) {
            false => decision.ended.push(node.clone()),
            true => decision.changed.extend(last_assignment(node, *assigned)),
        }
    }
    decision
}

fn last_assignment(node: &str, assigned: Digest) -> Option<NodeAssignment> {
    let document = NodeDocument::of_destroyed(node);
    let digest = document.digest();
    (digest != assigned).then(|| NodeAssignment {
        node: node.to_owned(),
        document: text_of(&document),
        digest,
        own: "[]".to_owned(),
        shared: "[]".into(),
    })
}

fn text_of(document: &NodeDocument) -> String {
    String::from_utf8(document.to_bytes()).expect("JSON is text")
}

struct Deciding<'f> {
    fleet: &'f ApprovedFleet,
    resolver: NodeResolver<'f>,
    keys: ComposeKeys<'f>,
    /// Why documents with a key cannot be composed; none if they can.
    composed: BTreeMap<String, Option<String>>,
    shared: BTreeMap<String, Arc<str>>,
}

impl<'f> Deciding<'f> {
    fn new(fleet: &'f ApprovedFleet) -> Deciding<'f> {
        Deciding {
            fleet,
            resolver: NodeResolver::new(&fleet.accepted, &fleet.versions),
            keys: ComposeKeys::new(&fleet.packages),
            composed: BTreeMap::new(),
            shared: BTreeMap::new(),
        }
    }

    /// The new document of a node; none if it has it already.
    fn node(&mut self, node: &str, assigned: Option<&Digest>) -> Result<Option<NodeAssignment>, String> {
        let resolved = self.resolver.resolve(node).map_err(|problem| problem.to_string())?;
        // Checked for unchanged documents too: an approval that is gone is shown at once.
        let NodeCover { own, shared } =
            self.fleet.cover(node, &resolved).map_err(|problem| problem.to_string())?;
        let document = text_of(&resolved.document);
        let digest = Digest::of(document.as_bytes());
        if assigned == Some(&digest) {
            return Ok(None);
        }
        if let Some(reason) = self.why_not_composed(&resolved.document) {
            return Err(reason);
        }
        let (own, shared) = (json(&own), self.shared_text(&shared));
        Ok(Some(NodeAssignment { node: node.to_owned(), document, digest, own, shared }))
    }

    fn why_not_composed(&mut self, document: &NodeDocument) -> Option<String> {
        let (fleet, key) = (self.fleet, self.keys.of(document));
        let compose = || {
            let shown = |problems: Vec<HostProblem>| {
                problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            };
            HostState::compose(document, &fleet.packages).err().map(shown)
        };
        self.composed.entry(key).or_insert_with(compose).clone()
    }

    fn shared_text(&mut self, shared: &[CoveredResource]) -> Arc<str> {
        let key = shared.iter().map(|one| format!("{}\0{}\0", one.resource, one.digest)).collect();
        self.shared.entry(key).or_insert_with(|| json(shared).into()).clone()
    }
}

fn json(covered: &[CoveredResource]) -> String {
    serde_json::to_string(covered).expect("approvals are JSON")
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
