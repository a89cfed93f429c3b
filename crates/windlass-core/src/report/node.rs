//! The status of a node with its reason in one sentence: why it is not in sync, or that it is.
//!
//! [`target_report`](super::target_report) compares what was observed with what is assigned. This module adds what else
//! people know of a node: whether an agent is enrolled, whether a document could be made for it, which module failed, and
//! which differences someone accepted. A node whose differences are all accepted counts as in sync.

use std::time::Duration;

use super::{
    AcceptedTarget, ContactState, StatusReport, SyncState, TargetFacts, UnknownReason, target_report,
};
use crate::display::pluralize;
use crate::drift::ItemKey;
use crate::observed::{AgentMessage, Generation, LastContact, Observed, ObservedTarget};
use crate::time::Timestamp;

/// The agent of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAgent {
    /// None is enrolled.
    NotEnrolled,
    /// One is.
    Enrolled {
        /// Since when.
        at: Timestamp,
        /// When it was last in contact.
        last_contact: LastContact,
    },
}

/// Why no document can be made for a node from the accepted state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignmentProblem {
    /// What is wrong.
    pub message: String,
    /// Since when.
    pub since: Timestamp,
}

/// The drift of a node in numbers, with the item that is named first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriftSummary {
    /// Items that differ and that nobody accepted.
    pub open: u64,
    /// Items that differ and that someone accepted.
    pub accepted: u64,
    /// Items that differ and that the agent or the server left out, because there are too many.
    pub left_out: u64,
    /// The item that differs for the longest time, of those that nobody accepted.
    pub first: Option<FirstDrift>,
}

/// One item that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstDrift {
    /// The item.
    pub item: ItemKey,
    /// Its module.
    pub module: String,
    /// Since when it differs.
    pub since: Timestamp,
}

/// A module that could not be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedModule {
    /// The module.
    pub name: String,
    /// What went wrong.
    pub message: AgentMessage,
}

/// Everything that determines the status of a node and its reason.
#[derive(Clone, Copy, Debug)]
pub struct NodeFacts<'f> {
    /// The node's name.
    pub name: &'f str,
    /// Its agent.
    pub agent: NodeAgent,
    /// What is assigned to it; none before the first assignment.
    pub assignment: Option<AcceptedTarget>,
    /// Why its newest state could not be assigned.
    pub problem: Option<&'f AssignmentProblem>,
    /// The observed state.
    pub observed: &'f ObservedTarget,
    /// Its drift.
    pub drift: &'f DriftSummary,
    /// The first module that could not be applied.
    pub failed: Option<&'f FailedModule>,
    /// How long an agent may be out of contact before it counts as offline.
    pub offline_after: Duration,
    /// The time now, by the clock of the server.
    pub now: Timestamp,
}

/// The status of a node, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// The status, with the last known state.
    pub report: StatusReport,
    /// The reason in one sentence.
    pub reason: String,
}

impl NodeFacts<'_> {
    fn target_facts(&self, accepted: AcceptedTarget) -> TargetFacts<'_> {
        let last_contact = match self.agent {
            NodeAgent::NotEnrolled => LastContact::Never,
            NodeAgent::Enrolled { last_contact, .. } => last_contact,
        };
        TargetFacts {
            accepted,
            observed: self.observed,
            last_contact,
            offline_after: self.offline_after,
            now: self.now,
        }
    }
}

/// The status of a node.
pub fn node_status(facts: &NodeFacts<'_>) -> NodeStatus {
    let nothing = AcceptedTarget { generation: Generation(0), digest: crate::digest::Digest::of(b"") };
    let mut report = target_report(&facts.target_facts(facts.assignment.unwrap_or(nothing)));
    if facts.assignment.is_none() {
        report.last_known = SyncState::Unknown(UnknownReason::NotAssigned);
    }
    if let Some(as_of) = looked_at(facts)
        && is_accepted(facts, &report.last_known)
    {
        report.last_known = SyncState::InSync { as_of };
    }
    if let Some(problem) = facts.problem {
        let message =
            AgentMessage::new(&format!("its accepted state cannot be resolved: {}", problem.message));
        report.last_known = SyncState::Failed { message, since: problem.since };
    }
    let reason = reason(facts, &report);
    NodeStatus { report, reason }
}

/// When the agent last looked.
fn looked_at(facts: &NodeFacts<'_>) -> Option<Timestamp> {
    match &facts.observed.whole.as_ref()?.observation.observed {
        Observed::Known { seen, .. } | Observed::Absent { seen } => Some(seen.at),
        Observed::Unknown { .. } => None,
    }
}

/// Whether every difference is known and someone accepted it.
fn is_accepted(facts: &NodeFacts<'_>, state: &SyncState) -> bool {
    let drift = facts.drift;
    matches!(state, SyncState::Drifted { .. }) && drift.accepted > 0 && drift.open == 0 && drift.left_out == 0
}

fn reason(facts: &NodeFacts<'_>, report: &StatusReport) -> String {
    let NodeAgent::Enrolled { at, .. } = facts.agent else {
        return format!("No agent is enrolled; run `windlass node enroll {}`.", facts.name);
    };
    let state = state_reason(facts, &report.last_known);
    match report.contact {
        ContactState::Current => format!("{}.", capitalised(&state)),
        ContactState::Never => format!("Its agent was enrolled at {} and has not connected yet.", moment(at)),
        ContactState::Lost { since } => match &report.last_known {
            SyncState::Unknown(UnknownReason::NeverReported | UnknownReason::NotAssigned) => {
                format!("Offline since {}.", moment(since))
            }
            _ => format!("Offline since {}; last known: {state}.", moment(since)),
        },
    }
}

/// A time for people: to the second.
pub fn moment(at: Timestamp) -> String {
    at.to_calendar().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The state in words, without a full stop.
fn state_reason(facts: &NodeFacts<'_>, state: &SyncState) -> String {
    match state {
        SyncState::InSync { as_of } => match facts.drift.accepted {
            0 => format!("in sync as of {}", moment(*as_of)),
            count => {
                let accepted = pluralize(count_of(count), "accepted difference");
                format!("in sync as of {}, with {accepted}", moment(*as_of))
            }
        },
        SyncState::Applying { reached, accepted } => {
            let reached = reached.map_or_else(|| "nothing yet".to_owned(), |reached| reached.0.to_string());
            format!("applying {accepted}, reached {reached}")
        }
        SyncState::Failed { .. } if facts.problem.is_some() => {
            let message = facts.problem.map_or("", |problem| problem.message.as_str());
            format!("its accepted state cannot be resolved: {}", shortened(message))
        }
        SyncState::Failed { message, since } => {
            let (what, message) = match facts.failed {
                Some(failed) => (format!("module {}", failed.name), &failed.message),
                None => ("applying".to_owned(), message),
            };
            format!("{what} failed since {}: {}", moment(*since), shortened(message.as_str()))
        }
        SyncState::Drifted { since, .. } => drift_reason(facts.drift, *since),
        SyncState::Unknown(reason) => unknown_reason(reason),
    }
}

fn drift_reason(drift: &DriftSummary, since: Timestamp) -> String {
    let Some(FirstDrift { item, module, since }) = &drift.first else {
        return format!("drifted since {}, and its agent listed no item", moment(since));
    };
    let more = (drift.open + drift.left_out).saturating_sub(1);
    let more = match more {
        0 => String::new(),
        more => format!(", and {}", pluralize(count_of(more), "more item")),
    };
    format!("drifted: {item} of module {module} changed since {}{more}", moment(*since))
}

fn unknown_reason(reason: &UnknownReason) -> String {
    match reason {
        UnknownReason::NotAssigned => "nothing is assigned to it yet".to_owned(),
        UnknownReason::NeverReported => "its agent has not reported yet".to_owned(),
        UnknownReason::Unreadable { since, message } => {
            let (since, message) = (moment(*since), shortened(message.as_str()));
            format!("its agent cannot read the state since {since}: {message}")
        }
        UnknownReason::AheadOfAccepted { reported, accepted } => {
            format!("its agent reports {reported}, and only {accepted} was assigned: enrol the node again")
        }
    }
}

fn count_of(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// An agent's message as a part of a sentence: its first line, without a full stop at its end.
fn shortened(message: &str) -> String {
    const MAX_CHARS: usize = 240;
    let line = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given").trim();
    let shown: String = line.chars().take(MAX_CHARS).collect();
    let cut = if shown.len() < line.len() { "…" } else { "" };
    format!("{}{cut}", shown.trim_end_matches(['.', ' ']))
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
