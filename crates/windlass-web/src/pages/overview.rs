//! The overview of the account.

use askama::Template;
use windlass_api::types::{ProposalInfo, RepositoryInfo, RunInfo, Status};
use windlass_core::report::{StatusTally, TargetStatus};

use crate::frame::{Frame, NavEntry};
use crate::words;

/// The state of the resources of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindHealth {
    /// The kind, in the plural.
    pub kind: String,
    /// The number of accepted resources.
    pub accepted: usize,
    /// The number of manual changes.
    pub drifted: usize,
    /// The number of open proposals.
    pub open: usize,
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "overview.html")]
pub struct OverviewPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The state of the account.
    pub status: Status,
    /// By kind, in the order of the kinds.
    pub kinds: Vec<KindHealth>,
    /// The repositories.
    pub repositories: Vec<RepositoryInfo>,
    /// The last runs.
    pub runs: Vec<RunInfo>,
    /// The first few proposals that await approval.
    pub waiting: Vec<ProposalInfo>,
    /// How many nodes have each status.
    pub nodes: StatusTally,
}

impl OverviewPage {
    pub(crate) fn accepted_total(&self) -> usize {
        self.kinds.iter().map(|kind| kind.accepted).sum()
    }

    /// The number of nodes that are in sync.
    pub(crate) fn nodes_in_sync(&self) -> u64 {
        self.nodes.of(TargetStatus::InSync)
    }

    /// The most severe status among the nodes that are not in sync, with their number.
    pub(crate) fn worst_nodes(&self) -> Option<(TargetStatus, u64)> {
        let worst = self.nodes.worst().filter(|worst| *worst != TargetStatus::InSync)?;
        Some((worst, self.nodes.of(worst)))
    }

    pub(crate) fn kinds_in_use(&self) -> usize {
        self.kinds.iter().filter(|kind| kind.accepted > 0).count()
    }

    pub(crate) fn state(&self) -> (&'static str, String) {
        let (tone, word) = match self.status.repositories_failed.as_slice() {
            _ if self.status.account.halted.is_some() => ("bad", "Applying is halted"),
            [name] => return ("bad", format!("Sync failing: {name}")),
            [name, others @ ..] => return ("bad", format!("Sync failing: {name} and {} more", others.len())),
            [] if self.status.drifted > 0 => ("warn", "Drifted"),
            [] if self.frame.pending > 0 => ("warn", "Needs review"),
            [] if self.repositories.is_empty() => ("calm", "No repositories yet"),
            [] => ("good", "In sync"),
        };
        (tone, word.to_owned())
    }
}

impl KindHealth {
    /// The share that is in sync, rounded to the steps of the style sheet.
    pub(crate) fn share(&self) -> usize {
        match self.accepted {
            0 => 0,
            accepted => accepted.saturating_sub(self.drifted) * 20 / accepted * 5,
        }
    }
}
