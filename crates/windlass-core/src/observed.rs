//! Observed state: what an agent reported about its target, a node or a cluster, and about each resource on it.
//!
//! Observed state is *absent* (the agent confirmed that it is not there), *unknown* (never reported, or nobody can tell
//! what is there), or *known* as of a time and a generation. Agents report; [`ObservedTarget::merge`] adds a report to what
//! is stored; [`crate::report`] compares the result with the accepted state.
//!
//! Reports may arrive late, twice or in any order. They are ordered by [`ReportOrder`] and never by a clock, so an agent
//! whose clock jumps back does no harm: times are for people to read.
//!
//! Nothing here decides whether what was observed is good or bad.

use std::fmt;

use crate::digest::Digest;
use crate::display::sanitize_for_terminal;
use crate::resource::{Kind, ResourceKey, ResourceMap};
use crate::secret::without_secrets;
use crate::time::Timestamp;

/// Which version of what is assigned to a target. The server raises it by one with every change; 0 is before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation(pub u64);

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "generation {}", self.0)
    }
}

/// How many times a target was enrolled. The server takes it from the agent's certificate and never from its reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Enrolment(pub u64);

/// Which of two reports about a target is newer: the one of the later enrolment, then the one of the higher generation,
/// then the one with the higher sequence number.
///
/// The enrolment comes first because a machine that was installed again counts from the start: without it, its reports
/// would look older than those of the machine before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportOrder {
    /// The enrolment of the agent that reports.
    pub enrolment: Enrolment,
    /// The generation that was in force on the agent when it made the report.
    pub generation: Generation,
    /// The agent gives each report a higher number than the one before.
    pub sequence: u64,
}

/// When an agent looked, and which generation was in force at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The generation in force when the agent last looked.
    pub generation: Generation,
    /// When the agent first saw exactly this, by its own clock.
    pub since: Timestamp,
    /// When the agent last looked, by its own clock.
    pub at: Timestamp,
}

/// What an agent says is there. Something that it never reported has no `Observed` at all, and is unknown too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Nobody can tell what is there.
    Unknown {
        /// Since when, by the agent's clock.
        since: Timestamp,
        /// The cause.
        cause: UnknownCause,
    },
    /// The agent looked, and it is not there.
    Absent {
        /// When it looked.
        seen: Sighting,
    },
    /// The agent looked, and saw this.
    Known {
        /// The digest of what it saw, made as the digest of the accepted state is made.
        digest: Digest,
        /// When it looked.
        seen: Sighting,
    },
}

/// Why an agent cannot tell what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownCause {
    /// The agent is changing it. Reported before the change begins, so that a crash in the middle leaves no false claim.
    BeingChanged,
    /// The agent tried to look and could not.
    Unreadable(AgentMessage),
}

/// What an agent says about its target or about one resource: what is there, and whether applying failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// What is there.
    pub observed: Observed,
    /// Why applying failed. An agent that tries again keeps reporting it until an attempt succeeds, so that the status does
    /// not alternate.
    pub failure: Option<ApplyFailure>,
}

/// An agent could not apply a generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyFailure {
    /// The generation that it tried to apply.
    pub generation: Generation,
    /// When the first attempt failed, by the agent's clock.
    pub since: Timestamp,
    /// What went wrong.
    pub message: AgentMessage,
}

/// A text that an agent wrote, safe to store and to show: cut to [`AgentMessage::MAX_CHARS`], without recognised secrets
/// and without characters that steer a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentMessage(String);

impl AgentMessage {
    /// Enough for a command, its exit code and its last lines; little enough for ten thousand failing targets.
    pub const MAX_CHARS: usize = 1000;

    /// Makes an agent's text safe.
    pub fn new(text: &str) -> AgentMessage {
        let safe = sanitize_for_terminal(&without_secrets(text));
        let mut shown: String = safe.chars().take(AgentMessage::MAX_CHARS).collect();
        if shown.len() < safe.len() {
            shown.pop();
            shown.push('…');
        }
        AgentMessage(shown)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One report of an agent about its target.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentReport {
    /// Where it stands among the target's reports.
    pub order: ReportOrder,
    /// Whether it lists every resource on the target.
    pub coverage: Coverage,
    /// The target as a whole. Its digest covers all resources, and it carries a failure if applying any of them failed.
    pub target: Observation,
    /// The resources that it lists.
    pub resources: ResourceMap<Observation>,
}

/// Which resources a report lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Every resource on the target: what is stored of others is out of date. Agents report so first after enrolment, after
    /// they applied a generation, and when asked.
    Complete,
    /// Only those that changed: what is stored of others still holds.
    Partial,
}

/// An observation as it is stored: with the order of the report that it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObservation {
    /// The order of that report.
    pub order: ReportOrder,
    /// What the report said.
    pub observation: Observation,
}

impl StoredObservation {
    /// The generation that it tells about: the one in force when the agent looked, or when it reported that it could not.
    pub fn generation(&self) -> Generation {
        match &self.observation.observed {
            Observed::Known { seen, .. } | Observed::Absent { seen } => seen.generation,
            Observed::Unknown { .. } => self.order.generation,
        }
    }
}

/// Everything that is stored of what a target's agent reported. The default is a target that never reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedTarget {
    /// The target as a whole, from its newest report; none if there was no report yet.
    pub whole: Option<StoredObservation>,
    /// The order of the newest complete report of this enrolment.
    pub complete_as_of: Option<ReportOrder>,
    /// Each resource, from the newest report that lists it.
    pub resources: ResourceMap<StoredObservation>,
}

/// What merging a report did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeEffect {
    /// Something is stored that was not before.
    Changed,
    /// The report was known or out of date.
    Unchanged,
}

/// When a server last had contact with a target's agent, by the server's clock. Each contact replaces the previous one,
/// even with an earlier time: after a clock was set back, only the new time can be compared with now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastContact {
    /// Its agent never connected.
    Never,
    /// Then.
    At(Timestamp),
}

impl ObservedTarget {
    /// Adds a report to what is stored.
    ///
    /// The target and each resource keep what the newest report says of them. A report that was merged before changes
    /// nothing. A complete report drops resources that it does not list, and a report of a later enrolment drops everything
    /// before it: that was another machine. Older reports that arrive afterwards do not bring it back. Whatever the order
    /// of arrival, the same reports give the same result, if no two of them have the same order.
    pub fn merge(&mut self, report: &AgentReport) -> MergeEffect {
        if self.is_out_of_date(report.order) {
            return MergeEffect::Unchanged;
        }
        let mut is_changed = self.drop_superseded(report);
        if is_newer(self.whole.as_ref(), report.order) {
            self.whole = Some(stored(report.order, &report.target));
            is_changed = true;
        }
        for (kind, name, observation) in report.resources.iter() {
            is_changed |= self.note_resource(kind, name, report.order, observation);
        }
        if is_changed { MergeEffect::Changed } else { MergeEffect::Unchanged }
    }

    /// Whether a report is the newest again, of an earlier enrolment, or older than the newest complete one.
    fn is_out_of_date(&self, order: ReportOrder) -> bool {
        let is_known_or_earlier = self
            .whole
            .as_ref()
            .is_some_and(|whole| order == whole.order || order.enrolment < whole.order.enrolment);
        is_known_or_earlier || self.complete_as_of.is_some_and(|complete| order < complete)
    }

    /// Drops what the report takes the place of without listing it. Returns whether anything was noted or dropped.
    fn drop_superseded(&mut self, report: &AgentReport) -> bool {
        let order = report.order;
        let is_new_enrolment =
            self.whole.as_ref().is_some_and(|whole| whole.order.enrolment < order.enrolment);
        let is_newly_complete =
            report.coverage == Coverage::Complete && self.complete_as_of.is_none_or(|known| known < order);
        if is_newly_complete {
            self.complete_as_of = Some(order);
            self.resources.retain(|stored| stored.order >= order);
        } else if is_new_enrolment {
            self.complete_as_of = None;
            self.resources.retain(|stored| stored.order.enrolment >= order.enrolment);
        }
        is_newly_complete || is_new_enrolment
    }

    fn note_resource(
        &mut self,
        kind: Kind,
        name: &str,
        order: ReportOrder,
        observation: &Observation,
    ) -> bool {
        let is_newer = is_newer(self.resources.get(kind, name), order);
        if is_newer {
            self.resources.insert(ResourceKey::new(kind, name), stored(order, observation));
        }
        is_newer
    }
}

fn is_newer(known: Option<&StoredObservation>, order: ReportOrder) -> bool {
    known.is_none_or(|known| known.order < order)
}

fn stored(order: ReportOrder, observation: &Observation) -> StoredObservation {
    StoredObservation { order, observation: observation.clone() }
}

#[cfg(test)]
#[path = "observed_tests.rs"]
mod tests;
