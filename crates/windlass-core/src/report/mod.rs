//! Status: observed state compared with accepted state, for targets, for the resources on them, and rolled up.
//!
//! [`target_report`] and [`resource_report`] decide the status of one target and of one resource on it;
//! [`roll_up()`] counts the statuses of many. All they need is handed in, the time included.
//!
//! **Contact** is judged first and stands beside the rest, so that the last known state is never lost:
//!
//! | Contact | Status |
//! |---|---|
//! | the agent never connected | unknown |
//! | the last contact is longer ago than the limit | offline, with the last known state beside it |
//! | otherwise | the state below |
//!
//! **A target's state** is the first of these that holds. Each rule needs those above it to have failed: nothing can be
//! said without a report; a report about a generation that was never accepted says nothing about the accepted one; a
//! failure explains every difference; before the accepted generation is reached, differences are expected; what cannot be
//! read cannot be compared.
//!
//! | | Condition | State |
//! |---|---|---|
//! | 1 | no report | unknown: never reported |
//! | 2 | reported generation > accepted generation | unknown: ahead of the accepted state |
//! | 3 | the agent failed to apply the accepted generation | failed |
//! | 4 | reported generation < accepted generation | applying |
//! | 5 | the agent is changing the target | applying |
//! | 6 | the agent cannot tell what is there | unknown: unreadable |
//! | 7 | observed digest ≠ accepted digest, or absent | drifted |
//! | 8 | otherwise | in sync |
//!
//! **A resource's state** is the first of these that holds. A resource that is as accepted is in sync even before its
//! target reaches the accepted generation, because that generation leaves the resource as it is. Agents report "unknown"
//! before they touch a resource, so this is never a stale claim.
//!
//! | | Condition | State |
//! |---|---|---|
//! | 1 | rule 1 or 2 holds for its target, or rule 2 for itself | unknown |
//! | 2 | the agent failed to apply it in the accepted generation | failed |
//! | 3 | the agent is changing it | applying |
//! | 4 | observed = accepted, or absent and not wanted | in sync |
//! | 5 | the agent failed to apply the accepted generation to its target | failed, with the target's message |
//! | 6 | its target is applying, or it was last seen under an earlier generation | applying |
//! | 7 | never reported, or the agent cannot tell what is there | unknown |
//! | 8 | otherwise | drifted: changed, missing or unexpected |
//!
//! Nothing here looks at git. Where the accepted state differs from git because someone changed Windlass directly, that is
//! a manual change, and [`crate::drift`] finds it.

mod contact;
mod node;
mod roll_up;
mod status;

use std::time::Duration;

pub use contact::{AnnouncedContact, ContactChange, contact_change, contact_state};
pub use node::{
    AssignmentProblem, DriftSummary, FailedModule, FirstDrift, NodeAgent, NodeFacts, NodeStatus, moment,
    node_status,
};
pub use roll_up::{StatusTally, roll_up};
pub use status::{ContactState, DriftKind, StatusReport, SyncState, TargetStatus, UnknownReason};

use crate::digest::Digest;
use crate::observed::{
    ApplyFailure, Generation, LastContact, Observed, ObservedTarget, StoredObservation, UnknownCause,
};
use crate::resource::{Kind, ResourceKey, ResourceMap};
use crate::time::Timestamp;

/// The accepted state of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedTarget {
    /// Its generation.
    pub generation: Generation,
    /// The digest of everything that is accepted for the target.
    pub digest: Digest,
}

/// Everything that determines a target's status.
#[derive(Clone, Copy, Debug)]
pub struct TargetFacts<'f> {
    /// The accepted state.
    pub accepted: AcceptedTarget,
    /// The observed state.
    pub observed: &'f ObservedTarget,
    /// When its agent was last in contact.
    pub last_contact: LastContact,
    /// How long an agent may be out of contact before it counts as offline.
    pub offline_after: Duration,
    /// The time now, by the clock of the server.
    pub now: Timestamp,
}

/// The status of a target, by the rules at the head of this module.
pub fn target_report(facts: &TargetFacts<'_>) -> StatusReport {
    StatusReport { contact: contact_of(facts), last_known: target_state(facts) }
}

/// The status of one resource on a target. `accepted` is the resource's accepted digest there, or `None` if it is not
/// wanted.
pub fn resource_report(
    facts: &TargetFacts<'_>,
    kind: Kind,
    name: &str,
    accepted: Option<Digest>,
) -> StatusReport {
    let stored = facts.observed.resources.get(kind, name);
    StatusReport { contact: contact_of(facts), last_known: resource_state(facts, stored, accepted) }
}

/// The status of every resource that is accepted for a target, and of every other that its agent reported there.
/// Resources that are not wanted and confirmed absent are left out.
pub fn resource_reports(
    facts: &TargetFacts<'_>,
    accepted: &ResourceMap<Digest>,
) -> ResourceMap<StatusReport> {
    let report = |kind, name: &str, accepted| {
        (ResourceKey::new(kind, name), resource_report(facts, kind, name, accepted))
    };
    let wanted = accepted.iter().map(|(kind, name, digest)| report(kind, name, Some(*digest)));
    let reported = facts.observed.resources.iter();
    let unwanted = reported
        .filter(|(kind, name, _)| !accepted.contains(*kind, name))
        .map(|(kind, name, _)| report(kind, name, None))
        .filter(|(_, report)| !matches!(report.last_known, SyncState::InSync { .. }));
    wanted.chain(unwanted).collect()
}

fn contact_of(facts: &TargetFacts<'_>) -> ContactState {
    contact_state(facts.last_contact, facts.offline_after, facts.now)
}

fn target_state(facts: &TargetFacts<'_>) -> SyncState {
    let accepted = facts.accepted;
    let Some(whole) = &facts.observed.whole else {
        return SyncState::Unknown(UnknownReason::NeverReported);
    };
    if let Some(reason) = ahead_of(accepted.generation, whole) {
        return SyncState::Unknown(reason);
    }
    if let Some(failure) = failure_of(accepted.generation, whole) {
        return failed(failure);
    }
    if whole.generation() < accepted.generation {
        return applying(facts, Some(whole));
    }
    match compare(Some(accepted.digest), &whole.observation.observed) {
        Seen::BeingChanged => applying(facts, Some(whole)),
        Seen::Settled(state) => state,
    }
}

fn resource_state(
    facts: &TargetFacts<'_>,
    stored: Option<&StoredObservation>,
    accepted: Option<Digest>,
) -> SyncState {
    let generation = facts.accepted.generation;
    let of_target = target_state(facts);
    if let SyncState::Unknown(UnknownReason::NeverReported | UnknownReason::AheadOfAccepted { .. }) =
        of_target
    {
        return of_target;
    }
    if let Some(reason) = stored.and_then(|stored| ahead_of(generation, stored)) {
        return SyncState::Unknown(reason);
    }
    if let Some(failure) = stored.and_then(|stored| failure_of(generation, stored)) {
        return failed(failure);
    }
    let state = match stored.map(|stored| compare(accepted, &stored.observation.observed)) {
        None => SyncState::Unknown(UnknownReason::NeverReported),
        Some(Seen::BeingChanged) => return applying(facts, stored),
        Some(Seen::Settled(state)) => state,
    };
    let is_outdated = stored.is_some_and(|stored| stored.generation() < generation);
    match (state, of_target) {
        (state @ SyncState::InSync { .. }, _) => state,
        (_, of_target @ SyncState::Failed { .. }) => of_target,
        (_, SyncState::Applying { .. }) => applying(facts, stored),
        _ if is_outdated => applying(facts, stored),
        (state, _) => state,
    }
}

/// What an observation says on its own, without its generation.
enum Seen {
    BeingChanged,
    Settled(SyncState),
}

fn compare(accepted: Option<Digest>, observed: &Observed) -> Seen {
    let drifted = |kind, since| SyncState::Drifted { kind, since };
    Seen::Settled(match (accepted, observed) {
        (_, Observed::Unknown { cause: UnknownCause::BeingChanged, .. }) => return Seen::BeingChanged,
        (_, Observed::Unknown { since, cause: UnknownCause::Unreadable(message) }) => {
            SyncState::Unknown(UnknownReason::Unreadable { since: *since, message: message.clone() })
        }
        (Some(accepted), Observed::Known { digest, seen }) if accepted == *digest => {
            SyncState::InSync { as_of: seen.at }
        }
        (None, Observed::Absent { seen }) => SyncState::InSync { as_of: seen.at },
        (Some(_), Observed::Known { seen, .. }) => drifted(DriftKind::Changed, seen.since),
        (Some(_), Observed::Absent { seen }) => drifted(DriftKind::Missing, seen.since),
        (None, Observed::Known { seen, .. }) => drifted(DriftKind::Unexpected, seen.since),
    })
}

/// The reason if an agent works on, or looked under, a generation above the accepted one: the server was restored from
/// an older backup, or the agent is wrong. Enrolling the target again ends this state.
fn ahead_of(accepted: Generation, stored: &StoredObservation) -> Option<UnknownReason> {
    let reported = stored.order.generation.max(stored.generation());
    (reported > accepted).then_some(UnknownReason::AheadOfAccepted { reported, accepted })
}

/// Failures of earlier generations do not count: the accepted one may succeed.
fn failure_of(accepted: Generation, stored: &StoredObservation) -> Option<&ApplyFailure> {
    stored.observation.failure.as_ref().filter(|failure| failure.generation == accepted)
}

fn failed(failure: &ApplyFailure) -> SyncState {
    SyncState::Failed { message: failure.message.clone(), since: failure.since }
}

fn applying(facts: &TargetFacts<'_>, stored: Option<&StoredObservation>) -> SyncState {
    let reached = stored.map(StoredObservation::generation);
    SyncState::Applying { reached, accepted: facts.accepted.generation }
}

#[cfg(test)]
mod tests;
