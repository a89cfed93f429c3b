//! One proposal: its changes, their cause, its contributors, the affected resources, and the decision.

use askama::Template;
use windlass_api::permission::Permission;
use windlass_api::types::{ContentDifference, ProposalInfo, RunInfo};
use windlass_core::diff::Action;
use windlass_core::gate::{ConsentState, ContributorRole};
use windlass_core::proposal::Status;

use super::Allowed;
use crate::content::{self, ContentRow};
use crate::diff::{DiffRow, SpecDiff};
use crate::effects::{self, EffectGroup};
use crate::frame::{Frame, NavEntry};
use crate::{link, words};

/// The layout of the diff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiffLayout {
    /// Before and after in one column.
    #[default]
    Unified,
    /// Before on the left, after on the right.
    Split,
}

impl DiffLayout {
    /// The layout with this spelling; unified for anything else.
    pub fn of(word: &str) -> DiffLayout {
        if word == "split" { DiffLayout::Split } else { DiffLayout::Unified }
    }
}

/// A resource that the resource refers to, or that refers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Whether it exists.
    pub status: NeighbourState,
}

/// Whether a neighbour exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NeighbourState {
    /// It is accepted.
    Accepted,
    /// It is built into Windlass.
    BuiltIn,
    /// There is an open proposal for it.
    Proposed(String),
    /// It does not exist.
    Missing,
}

/// The resources that a change affects besides its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlastRadius {
    /// The resources it would refer to.
    pub refers_to: Vec<Neighbour>,
    /// The resources that refer to it.
    pub referred_by: Vec<Neighbour>,
    /// Whether more resources refer to it than are listed.
    pub is_cut: bool,
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "proposal.html")]
pub struct ProposalPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The proposal.
    pub proposal: ProposalInfo,
    /// The run that opened it, if it still exists.
    pub run: Option<RunInfo>,
    /// The affected resources.
    pub blast_radius: BlastRadius,
    /// The layout of the diff.
    pub view: DiffLayout,
    /// The diff of the spec.
    pub comparison: SpecDiff,
    /// The differences in the files that the resource names.
    pub content: Vec<ContentRow>,
    /// The nodes that change, those that change alike together.
    pub effects: Vec<EffectGroup>,
}

impl ProposalPage {
    /// The CLI command that shows the full proposal.
    pub(crate) fn command(&self) -> String {
        format!("windlass proposal show {}", self.proposal.id)
    }

    /// The page about a proposal.
    pub fn new(
        frame: Frame,
        proposal: ProposalInfo,
        run: Option<RunInfo>,
        blast_radius: BlastRadius,
        view: DiffLayout,
    ) -> ProposalPage {
        let comparison = SpecDiff::of(proposal.current.as_ref(), proposal.desired.as_ref());
        let known: Vec<_> = proposal.content.iter().filter_map(ContentDifference::to_core).collect();
        let content = content::rows(&known);
        let effects = proposal.effects.as_ref().map(effects::groups).unwrap_or_default();
        ProposalPage { frame, proposal, run, blast_radius, view, comparison, content, effects }
    }

    fn closed(&self) -> Option<String> {
        let status = self.proposal.status;
        (status != Status::PendingApproval)
            .then(|| format!("the proposal is {}", status.label().to_lowercase()))
    }

    pub(crate) fn approve(&self) -> Allowed {
        let gate = self.proposal.gate.as_ref();
        let reason = self
            .frame
            .why_not(Permission::GitopsApprove)
            .or_else(|| self.closed())
            .or_else(|| gate.and_then(|gate| gate.why_not_you.clone()));
        Allowed::unless(reason)
    }

    pub(crate) fn reject(&self) -> Allowed {
        let closed = if self.proposal.status.is_open() { None } else { self.closed() };
        Allowed::unless(self.frame.why_not(Permission::GitopsApprove).or(closed))
    }

    pub(crate) fn edit(&self) -> Allowed {
        let is_destroy = self.proposal.change == Action::Destroy;
        let senseless = is_destroy.then(|| "a deletion cannot be edited; reject it instead".to_owned());
        Allowed::unless(self.frame.why_not(Permission::GitopsWrite).or_else(|| self.closed()).or(senseless))
    }

    pub(crate) fn is_split(&self) -> bool {
        self.view == DiffLayout::Split
    }

    pub(crate) fn title(&self) -> String {
        let proposal = &self.proposal;
        format!("{} {} {}", words::state(proposal.change), words::kind(&proposal.kind), proposal.name)
    }

    /// Where the resource is declared.
    pub(crate) fn declared(&self) -> Option<String> {
        let file = self.proposal.file.as_ref()?;
        Some(self.proposal.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")))
    }

    pub(crate) fn is_open(&self) -> bool {
        self.proposal.gate.is_some()
    }

    pub(crate) fn share(&self) -> usize {
        self.proposal.gate.as_ref().map_or(0, |gate| match gate.need {
            0 => 100,
            need => gate.have.min(need) * 100 / need,
        })
    }
}
