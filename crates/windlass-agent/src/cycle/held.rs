//! What the node shall be, as the agent holds it on the disk, and how far it is with it.

use serde::{Deserialize, Serialize};
use windlass_core::host::{BlobDigest, NodeDocument};
use windlass_core::id::AgentId;

use crate::target::host::Scope;

/// The file in the state directory.
pub(crate) const ASSIGNMENT: &str = "assignment.json";

/// How many starts an unconfirmed change survives: an agent that its own change stops each time takes it back.
pub(crate) const MAX_UNCONFIRMED_STARTS: u32 = 3;

/// A document and its generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeldDocument {
    pub(crate) generation: u64,
    pub(crate) document: NodeDocument,
}

impl HeldDocument {
    /// A node with nothing on it, as it was before the first assignment.
    fn nothing() -> HeldDocument {
        let document =
            NodeDocument { node: Default::default(), config: Default::default(), modules: Vec::new() };
        HeldDocument { generation: 0, document }
    }
}

/// How far the agent is with the current document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApplyStep {
    /// It has yet to be applied, or the agent was stopped while it did so.
    Due,
    /// It was applied, and some items failed. The agent tries again.
    Failing,
    /// It was applied, and every item was as it should be.
    Done,
}

impl ApplyStep {
    /// For people.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            ApplyStep::Due => "applying",
            ApplyStep::Failing => "some items failed; the agent tries again",
            ApplyStep::Done => "applied",
        }
    }
}

/// How much of the current document the agent applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApplyExtent {
    /// What changed since the document before. What someone changed by hand stays, because people decide about drift.
    #[default]
    Changes,
    /// All of it: the server sent the same document again, because someone reverts the drift of this node.
    Everything,
}

impl ApplyExtent {
    pub(crate) const fn scope(self) -> Scope {
        match self {
            ApplyExtent::Changes => Scope::Changes,
            ApplyExtent::Everything => Scope::WholeState,
        }
    }
}

/// What the agent would go back to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(crate) enum LastGood {
    /// The host as it was before the first assignment.
    Nothing,
    /// The document that was last applied without a failure.
    Document(Box<HeldDocument>),
    /// It was lost. The agent goes back to nothing.
    Lost,
}

/// A change that may cut the agent off, and that the server has yet to confirm by being reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unconfirmed {
    pub(crate) generation: u64,
    /// How many times the agent started since.
    pub(crate) starts: u32,
}

/// A generation that the agent took back. It does not try it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Withdrawn {
    pub(crate) generation: u64,
    /// Why, for people.
    pub(crate) reason: String,
}

/// What the agent holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Held {
    /// The agent that it belongs to: another enrolment holds nothing yet.
    pub(crate) agent: AgentId,
    /// The generation and the document that the agent accepted last. It accepts nothing older.
    pub(crate) accepted: Option<(u64, BlobDigest)>,
    /// What the node shall be.
    pub(crate) current: Option<HeldDocument>,
    pub(crate) step: ApplyStep,
    #[serde(default)]
    pub(crate) extent: ApplyExtent,
    pub(crate) last_good: LastGood,
    pub(crate) unconfirmed: Option<Unconfirmed>,
    pub(crate) withdrawn: Option<Withdrawn>,
}

impl Held {
    /// Nothing was assigned yet.
    pub(crate) fn nothing(agent: AgentId, last_good: LastGood) -> Held {
        Held {
            agent,
            accepted: None,
            current: None,
            step: ApplyStep::Done,
            extent: ApplyExtent::Changes,
            last_good,
            unconfirmed: None,
            withdrawn: None,
        }
    }

    /// The generation that was accepted last; 0 before the first.
    pub(crate) fn accepted_generation(&self) -> u64 {
        self.accepted.map_or(0, |(generation, _)| generation)
    }

    /// Accepts a document. What was applied without a failure before is what the agent would go back to.
    pub(crate) fn accept(&mut self, generation: u64, digest: BlobDigest, document: NodeDocument) {
        if self.step == ApplyStep::Done
            && self.unconfirmed.is_none()
            && let Some(current) = self.current.take()
        {
            self.last_good = LastGood::Document(Box::new(current));
        }
        let is_same = self.accepted.is_some_and(|(_, accepted)| accepted == digest);
        self.extent = if is_same { ApplyExtent::Everything } else { ApplyExtent::Changes };
        self.accepted = Some((generation, digest));
        self.current = Some(HeldDocument { generation, document });
        self.step = ApplyStep::Due;
        self.unconfirmed = None;
        self.withdrawn = None;
    }

    /// Notes that the current document may cut the agent off.
    pub(crate) fn await_confirmation(&mut self) {
        // Going back is not taken back in turn.
        if let (Some(current), None, None) = (&self.current, &self.unconfirmed, &self.withdrawn) {
            self.unconfirmed = Some(Unconfirmed { generation: current.generation, starts: 0 });
        }
    }

    /// Takes the current document back. Returns its generation, or `None` if there is nothing to go back to.
    pub(crate) fn withdraw(&mut self, reason: &str) -> Option<u64> {
        self.unconfirmed = None;
        let generation = self.current.as_ref()?.generation;
        let back = match &self.last_good {
            LastGood::Lost => return None,
            LastGood::Nothing => HeldDocument::nothing(),
            LastGood::Document(document) => (**document).clone(),
        };
        self.current = Some(back);
        self.step = ApplyStep::Due;
        self.extent = ApplyExtent::Changes;
        self.withdrawn = Some(Withdrawn { generation, reason: reason.to_owned() });
        Some(generation)
    }

    /// Counts a start of the agent.
    pub(crate) fn count_start(&mut self) {
        if let Some(unconfirmed) = &mut self.unconfirmed {
            unconfirmed.starts = unconfirmed.starts.saturating_add(1);
        }
    }

    /// Whether the agent started so often without reaching its server that it shall go back.
    pub(crate) fn has_too_many_starts(&self) -> bool {
        self.unconfirmed.is_some_and(|unconfirmed| unconfirmed.starts >= MAX_UNCONFIRMED_STARTS)
    }

    /// The documents whose blobs must stay.
    pub(crate) fn documents(&self) -> impl Iterator<Item = &NodeDocument> {
        let last_good = match &self.last_good {
            LastGood::Document(document) => Some(&document.document),
            LastGood::Nothing | LastGood::Lost => None,
        };
        self.current.iter().map(|current| &current.document).chain(last_good)
    }
}
