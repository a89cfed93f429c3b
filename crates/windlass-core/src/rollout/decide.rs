//! Which nodes get their new document now, which rollouts begin, and how the others stand.
//!
//! A rollout is about certain nodes and certain documents. A node that shall get another document than the rollout gives it
//! leaves the rollout; when all have left, the rollout is superseded. So a fix replaces a rollout that stopped, and a change
//! of one node does not let the others out of a rollout that stopped or was aborted. Nodes that left begin a new rollout. A
//! node without a rollout gets its document at once, and so does a node that never had one: nothing on it can break.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::governing::Governing;
use super::node_state::{RolloutCounts, RolloutNodeState};
use super::status::{Hold, RolloutAction, RolloutStatus};
use super::waves::{NodeProgress, Pace, RolloutOrders, RolloutPlan, RolloutStep, list_names};
use crate::digest::Digest;
use crate::id::RolloutId;
use crate::resource::{NodeRollout, ResourceKey};
use crate::time::Timestamp;
use crate::value::Labels;

/// A rollout that holds nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    /// Its id.
    pub id: RolloutId,
    /// The template or module that says how it moves.
    pub governed_by: ResourceKey,
    /// What it said when the rollout began.
    pub rollout: NodeRollout,
    /// How it stands.
    pub status: RolloutStatus,
    /// Why it waits, stopped or ended.
    pub reason: Option<String>,
    /// Nodes whose failure somebody tolerates.
    pub tolerated: BTreeSet<String>,
    /// Its nodes.
    pub nodes: BTreeMap<String, RolloutNode>,
}

impl Rollout {
    /// The nodes whose failure does not count after a decision. Resuming tolerates those that have failed so far.
    pub fn tolerated_after(&self, action: RolloutAction) -> BTreeSet<String> {
        let mut tolerated = self.tolerated.clone();
        if action == RolloutAction::Resume {
            let failed = self.nodes.iter().filter(|(_, node)| node.state == RolloutNodeState::Failed);
            tolerated.extend(failed.map(|(name, _)| name.clone()));
        }
        tolerated
    }
}

/// A node of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutNode {
    /// The name of its wave.
    pub wave: String,
    /// The digest of the document that it shall get.
    pub document: Digest,
    /// How far it is.
    pub state: RolloutNodeState,
    /// Why it failed.
    pub message: Option<String>,
    /// When it got the document; none if it waits.
    pub released_at: Option<Timestamp>,
    /// When the server first saw it in sync or failed after it got the document. By the server's clock: a pause must not
    /// depend on the clock of a machine.
    pub settled_at: Option<Timestamp>,
}

/// A node, with what it shall get and what it has.
#[derive(Clone, Debug)]
pub struct NodeToAssign<'a> {
    /// The digest of the document that it shall get; none if its document cannot be made at the moment.
    pub wanted: Option<Digest>,
    /// The digest of the document that it is assigned; none if it never was.
    pub assigned: Option<Digest>,
    /// Its labels.
    pub labels: &'a Labels,
    /// What says how its change moves; only asked if it wants another document than it has.
    pub governed_by: Option<Arc<Governing>>,
    /// Whether its agent is out of contact, or was never enrolled.
    pub is_offline: bool,
    /// How far it is with what it is assigned.
    pub applied: AppliedState,
}

/// How far a node is with the document that it is assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppliedState {
    /// It is applying it, or did not report yet.
    Applying,
    /// It is in sync, or differs only because somebody changed it afterwards.
    InSync,
    /// It failed to apply it.
    Failed {
        /// Why.
        message: String,
    },
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RolloutDecisions {
    /// The nodes that get their document now.
    pub assign: BTreeSet<String>,
    /// Rollouts that begin.
    pub started: Vec<NewRollout>,
    /// How the rollouts that hold nodes stand now.
    pub updated: Vec<RolloutUpdate>,
}

/// A rollout that begins.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRollout {
    /// The template or module that says how it moves.
    pub governed_by: ResourceKey,
    /// What it says.
    pub rollout: NodeRollout,
    /// How it stands.
    pub status: RolloutStatus,
    /// Why it waits or stopped.
    pub reason: Option<String>,
    /// Its nodes.
    pub nodes: BTreeMap<String, RolloutNode>,
}

/// How a rollout stands now.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutUpdate {
    /// Which.
    pub id: RolloutId,
    /// How it stands.
    pub status: RolloutStatus,
    /// Why it waits, stopped or ended.
    pub reason: Option<String>,
    /// The nodes that get their document now.
    pub released: BTreeSet<String>,
    /// The nodes that are not as before.
    pub changed: BTreeMap<String, RolloutNode>,
    /// How many nodes are in which state now.
    pub counts: RolloutCounts,
    /// The waves whose first node gets its document now, each with the number of its nodes.
    pub waves_started: BTreeMap<String, usize>,
    /// Whether it still says which nodes get their document.
    pub hold: Hold,
}

/// Decides for all nodes of an account. `holding` are the rollouts that hold nodes; `nodes` has at least their nodes and
/// those that want another document than they have.
pub fn decide(
    nodes: &BTreeMap<String, NodeToAssign<'_>>,
    holding: &[Rollout],
    now: Timestamp,
) -> RolloutDecisions {
    let mut decisions = RolloutDecisions::default();
    let mut held: BTreeSet<&str> = BTreeSet::new();
    for rollout in holding {
        let update = advance(rollout, nodes, now);
        decisions.assign.extend(update.released.iter().cloned());
        if update.hold == Hold::Holds {
            let members = rollout.nodes.iter().filter(|(name, member)| stays(nodes.get(*name), member));
            held.extend(members.map(|(name, _)| name.as_str()));
        }
        decisions.updated.push(update);
    }
    let free = nodes.iter().filter(|(name, node)| {
        node.is_waiting() && !held.contains(name.as_str()) && !decisions.assign.contains(*name)
    });
    let mut starting: BTreeMap<&ResourceKey, (&NodeRollout, Vec<&str>)> = BTreeMap::new();
    let mut at_once = Vec::new();
    for (name, node) in free {
        match (&node.governed_by, node.assigned) {
            (Some(governing), Some(_)) => {
                let begin = || (&governing.rollout, Vec::new());
                starting.entry(&governing.resource).or_insert_with(begin).1.push(name);
            }
            _ => at_once.push(name.clone()),
        }
    }
    decisions.assign.extend(at_once);
    for (governed_by, (rollout, members)) in starting {
        let started = begin(governed_by, rollout, &members, nodes, now);
        let released = started.nodes.iter().filter(|(_, node)| node.released_at.is_some());
        decisions.assign.extend(released.map(|(name, _)| name.clone()));
        decisions.started.push(started);
    }
    decisions
}

/// Whether a node still belongs to the rollout that it is a member of. A node whose document cannot be made at the moment
/// does: what it shall get did not change for all that is known.
fn stays(node: Option<&NodeToAssign<'_>>, member: &RolloutNode) -> bool {
    node.is_some_and(|node| node.wanted.is_none_or(|wanted| wanted == member.document))
}

fn begin(
    governed_by: &ResourceKey,
    rollout: &NodeRollout,
    members: &[&str],
    nodes: &BTreeMap<String, NodeToAssign<'_>>,
    now: Timestamp,
) -> NewRollout {
    let labelled: Vec<(&str, &Labels)> =
        members.iter().filter_map(|name| Some((*name, nodes.get(*name)?.labels))).collect();
    let plan = RolloutPlan::new(rollout, &labelled);
    let mut started = Rollout {
        id: RolloutId::new(""),
        governed_by: governed_by.clone(),
        rollout: rollout.clone(),
        status: RolloutStatus::Running,
        reason: None,
        tolerated: BTreeSet::new(),
        nodes: plan
            .waves()
            .iter()
            .flat_map(|wave| wave.nodes.iter().map(|node| (node.clone(), wave.name.clone())))
            .filter_map(|(node, wave)| {
                let document = nodes.get(&node)?.wanted?;
                Some((node, RolloutNode::waiting(wave, document)))
            })
            .collect(),
    };
    let moved = advance(&started, nodes, now);
    started.nodes.extend(moved.changed);
    NewRollout {
        governed_by: started.governed_by,
        rollout: started.rollout,
        status: moved.status,
        reason: moved.reason,
        nodes: started.nodes,
    }
}

/// What becomes of a rollout now.
fn advance(rollout: &Rollout, nodes: &BTreeMap<String, NodeToAssign<'_>>, now: Timestamp) -> RolloutUpdate {
    let (members, left): (BTreeMap<&str, &RolloutNode>, BTreeMap<&str, &RolloutNode>) = rollout
        .nodes
        .iter()
        .map(|(name, member)| (name.as_str(), member))
        .partition(|(name, member)| stays(nodes.get(*name), member));
    let mut changed: BTreeMap<String, RolloutNode> = left
        .iter()
        .filter(|(_, member)| member.state != RolloutNodeState::Left)
        .map(|(name, member)| ((*name).to_owned(), member.left()))
        .collect();
    let waiting: BTreeSet<String> = members
        .keys()
        .filter(|name| nodes.get(**name).is_some_and(NodeToAssign::is_waiting))
        .map(|name| (*name).to_owned())
        .collect();
    let is_replaced = members.is_empty() && left.keys().any(|name| nodes.contains_key(*name));
    let Standing { status, reason, released } = match is_replaced {
        true => superseded(rollout),
        false => standing(rollout, &members, nodes, &waiting, now),
    };
    for (name, member) in &members {
        let Some(node) = nodes.get(*name) else { continue };
        let after = match released.contains(*name) {
            true => member.released(node, now),
            false => member.seen(node, now),
        };
        if after != **member {
            changed.insert((*name).to_owned(), after);
        }
    }
    let is_unmade = members
        .iter()
        .any(|(name, member)| nodes.get(*name).is_some_and(|node| member.waits_for_document(node)));
    let is_over = !status.is_open() && waiting.is_empty() && !is_unmade;
    let hold = if is_over { Hold::Released } else { Hold::Holds };
    let after = rollout.nodes.iter().map(|(name, member)| changed.get(name).unwrap_or(member).state);
    let counts = after.collect();
    let waves_started = waves_started(rollout, &released);
    RolloutUpdate { id: rollout.id.clone(), status, reason, released, changed, counts, waves_started, hold }
}

fn waves_started(rollout: &Rollout, released: &BTreeSet<String>) -> BTreeMap<String, usize> {
    let wave_of = |name: &String| rollout.nodes.get(name).map(|node| node.wave.as_str());
    let mut starting: BTreeMap<&str, usize> =
        released.iter().filter_map(wave_of).map(|wave| (wave, 0)).collect();
    if starting.is_empty() {
        return BTreeMap::new();
    }
    let mut begun = BTreeSet::new();
    for node in rollout.nodes.values() {
        if let Some(count) = starting.get_mut(node.wave.as_str()) {
            *count += 1;
            begun.extend(node.released_at.map(|_| node.wave.as_str()));
        }
    }
    let new = starting.into_iter().filter(|(wave, _)| !begun.contains(wave));
    new.map(|(wave, count)| (wave.to_owned(), count)).collect()
}

/// How a rollout stands, and the nodes that get their document.
struct Standing {
    status: RolloutStatus,
    reason: Option<String>,
    released: BTreeSet<String>,
}

/// A rollout that ended keeps its status: people want to know how it ended.
fn superseded(rollout: &Rollout) -> Standing {
    let (status, reason) = match rollout.status.is_open() {
        true => (RolloutStatus::Superseded, Some("a later change reaches the same nodes".to_owned())),
        false => (rollout.status, rollout.reason.clone()),
    };
    Standing { status, reason, released: BTreeSet::new() }
}

fn standing(
    rollout: &Rollout,
    members: &BTreeMap<&str, &RolloutNode>,
    nodes: &BTreeMap<String, NodeToAssign<'_>>,
    waiting: &BTreeSet<String>,
    now: Timestamp,
) -> Standing {
    use RolloutStatus::{Aborted, Completed, Paused, Promoted, Running, Stopped, Superseded};
    let step = plan_step(rollout, members, nodes, now);
    let (kept, none) = (|| rollout.reason.clone(), BTreeSet::new);
    let (status, reason, released) = match (rollout.status, step) {
        (ended @ (Aborted | Completed | Superseded), _) => (ended, kept(), none()),
        (Promoted, RolloutStep::Done) if waiting.is_empty() => (Completed, failures(members, nodes), none()),
        (Promoted, _) => (Promoted, kept(), waiting.clone()),
        (_, RolloutStep::Done) => (Completed, failures(members, nodes), none()),
        (_, step @ RolloutStep::Stopped { .. }) => (Stopped, Some(step.to_string()), none()),
        // Nodes that failed may recover. Whether that is enough to go on is a person's decision.
        (status @ (Paused | Stopped), _) => (status, kept(), none()),
        (Running, RolloutStep::Release(released)) => (Running, None, released.into_iter().collect()),
        (Running, step @ RolloutStep::Wait(_)) => (Running, Some(step.to_string()), none()),
    };
    Standing { status, reason, released }
}

/// The nodes that failed, in words.
fn failures(
    members: &BTreeMap<&str, &RolloutNode>,
    nodes: &BTreeMap<String, NodeToAssign<'_>>,
) -> Option<String> {
    let has_failed = |name: &str| {
        let node = nodes.get(name);
        node.is_some_and(|node| !node.is_waiting() && matches!(node.applied, AppliedState::Failed { .. }))
    };
    let failed: Vec<&str> = members.keys().copied().filter(|name| has_failed(name)).collect();
    (!failed.is_empty()).then(|| format!("{} failed", list_names(&failed)))
}

fn plan_step(
    rollout: &Rollout,
    members: &BTreeMap<&str, &RolloutNode>,
    nodes: &BTreeMap<String, NodeToAssign<'_>>,
    now: Timestamp,
) -> RolloutStep {
    // A node whose document cannot be made must not hold up the others.
    let ready: Vec<(&str, &RolloutNode, &NodeToAssign<'_>)> = members
        .iter()
        .filter_map(|(name, member)| Some((*name, *member, nodes.get(*name)?)))
        .filter(|(_, member, node)| !member.waits_for_document(node))
        .collect();
    let plan = RolloutPlan::resume(
        &rollout.rollout,
        ready.iter().map(|(name, member, _)| (*name, member.wave.as_str())),
    );
    let progress =
        ready.iter().map(|(name, member, node)| ((*name).to_owned(), member.progress(node, now))).collect();
    let pace = match rollout.status {
        RolloutStatus::Paused => Pace::Paused,
        _ => Pace::Moving,
    };
    let tolerated = match rollout.status {
        // Somebody released it to every node, whatever happens on some.
        RolloutStatus::Promoted => rollout.nodes.keys().cloned().collect(),
        _ => rollout.tolerated.clone(),
    };
    plan.next_step(&progress, &RolloutOrders { pace, tolerated }, now)
}

impl NodeToAssign<'_> {
    /// Whether it shall get another document than it has.
    fn is_waiting(&self) -> bool {
        self.wanted.is_some_and(|wanted| self.assigned != Some(wanted))
    }
}

impl RolloutNode {
    fn waiting(wave: String, document: Digest) -> RolloutNode {
        let state = RolloutNodeState::Waiting;
        RolloutNode { wave, document, state, message: None, released_at: None, settled_at: None }
    }

    /// Whether it did not get its document, and the document cannot be made at the moment.
    fn waits_for_document(&self, node: &NodeToAssign<'_>) -> bool {
        node.wanted.is_none() && node.assigned != Some(self.document)
    }

    /// The node after it left the rollout.
    fn left(&self) -> RolloutNode {
        RolloutNode { state: RolloutNodeState::Left, message: None, ..self.clone() }
    }

    /// The node after it got the document.
    fn released(&self, node: &NodeToAssign<'_>, now: Timestamp) -> RolloutNode {
        let state = match node.is_offline {
            true => RolloutNodeState::Offline,
            false => RolloutNodeState::Applying,
        };
        RolloutNode { state, message: None, released_at: Some(now), settled_at: None, ..self.clone() }
    }

    /// The node as it is seen now.
    fn seen(&self, node: &NodeToAssign<'_>, now: Timestamp) -> RolloutNode {
        if self.waits_for_document(node) {
            return self.clone();
        }
        let (state, message) = match self.progress(node, now) {
            NodeProgress::Waiting { .. } => (RolloutNodeState::Waiting, None),
            NodeProgress::Applying { is_offline: true } => (RolloutNodeState::Offline, None),
            NodeProgress::Applying { is_offline: false } => (RolloutNodeState::Applying, None),
            NodeProgress::InSync { .. } => (RolloutNodeState::InSync, None),
            NodeProgress::Failed => (RolloutNodeState::Failed, node.applied.message()),
        };
        let settled_at = match state {
            RolloutNodeState::InSync | RolloutNodeState::Failed => {
                self.settled_at.filter(|_| self.state == state).or(Some(now))
            }
            _ => None,
        };
        // A node can get the document in another way, such as with a rollout that was superseded.
        let released_at = match state {
            RolloutNodeState::Waiting => None,
            _ => self.released_at.or(Some(now)),
        };
        RolloutNode { state, message, released_at, settled_at, ..self.clone() }
    }

    fn progress(&self, node: &NodeToAssign<'_>, now: Timestamp) -> NodeProgress {
        let is_offline = node.is_offline;
        if node.is_waiting() {
            return NodeProgress::Waiting { is_offline };
        }
        match node.applied {
            AppliedState::Applying => NodeProgress::Applying { is_offline },
            AppliedState::InSync => {
                // A node that was not in sync when it was last seen is in sync since now.
                let since = self.settled_at.filter(|_| self.state == RolloutNodeState::InSync);
                NodeProgress::InSync { since: since.unwrap_or(now) }
            }
            AppliedState::Failed { .. } => NodeProgress::Failed,
        }
    }
}

impl AppliedState {
    fn message(&self) -> Option<String> {
        match self {
            AppliedState::Failed { message } => Some(message.clone()),
            AppliedState::Applying | AppliedState::InSync => None,
        }
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
