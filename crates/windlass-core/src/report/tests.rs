//! The rules of the module, row by row, for generation 5 with the digest of "accepted".

use proptest::prelude::*;

use super::*;
use crate::observed::{AgentMessage, Enrolment, Observation, ReportOrder, Sighting};

const ACCEPTED: Generation = Generation(5);
const OFFLINE_AFTER: Duration = Duration::from_secs(90);

/// The times when agents first saw what they report, and when they last looked.
const SINCE: i64 = 1000;
const LOOKED: i64 = 2000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn sighting(generation: u64) -> Sighting {
    Sighting { generation: Generation(generation), since: at(SINCE), at: at(LOOKED) }
}

fn known(text: &str, generation: u64) -> Observed {
    Observed::Known { digest: digest(text), seen: sighting(generation) }
}

fn absent(generation: u64) -> Observed {
    Observed::Absent { seen: sighting(generation) }
}

fn being_changed() -> Observed {
    Observed::Unknown { since: at(SINCE), cause: UnknownCause::BeingChanged }
}

fn unreadable() -> Observed {
    let cause = UnknownCause::Unreadable(AgentMessage::new("locked"));
    Observed::Unknown { since: at(SINCE), cause }
}

/// As reported while `generation` was in force on the agent.
fn reported(generation: u64, observed: Observed) -> StoredObservation {
    let order =
        ReportOrder { enrolment: Enrolment(1), generation: Generation(generation), sequence: LOOKED as u64 };
    StoredObservation { order, observation: Observation { observed, failure: None } }
}

fn with_failure(mut stored: StoredObservation, generation: u64, message: &str) -> StoredObservation {
    let (generation, message) = (Generation(generation), AgentMessage::new(message));
    stored.observation.failure = Some(ApplyFailure { generation, since: at(SINCE), message });
    stored
}

fn bundle() -> ResourceKey {
    ResourceKey::new(Kind::Bundle, "cert-manager")
}

fn observed_target(whole: Option<StoredObservation>, resource: Option<StoredObservation>) -> ObservedTarget {
    let resources = resource.into_iter().map(|stored| (bundle(), stored)).collect();
    ObservedTarget { whole, complete_as_of: None, resources }
}

/// A target that was in contact just now.
fn facts(observed: &ObservedTarget) -> TargetFacts<'_> {
    TargetFacts {
        accepted: AcceptedTarget { generation: ACCEPTED, digest: digest("accepted") },
        observed,
        last_contact: LastContact::At(at(10_000)),
        offline_after: OFFLINE_AFTER,
        now: at(10_000),
    }
}

fn in_sync() -> SyncState {
    SyncState::InSync { as_of: at(LOOKED) }
}

fn drifted(kind: DriftKind) -> SyncState {
    SyncState::Drifted { kind, since: at(SINCE) }
}

fn failed_with(message: &str) -> SyncState {
    SyncState::Failed { message: AgentMessage::new(message), since: at(SINCE) }
}

fn applying_from(reached: Option<u64>) -> SyncState {
    SyncState::Applying { reached: reached.map(Generation), accepted: ACCEPTED }
}

fn never_reported() -> SyncState {
    SyncState::Unknown(UnknownReason::NeverReported)
}

fn not_readable() -> SyncState {
    let message = AgentMessage::new("locked");
    SyncState::Unknown(UnknownReason::Unreadable { since: at(SINCE), message })
}

fn ahead(generation: u64) -> SyncState {
    let reported = Generation(generation);
    SyncState::Unknown(UnknownReason::AheadOfAccepted { reported, accepted: ACCEPTED })
}

#[test]
fn the_status_of_a_target_is_the_first_rule_that_matches() {
    let cases = [
        ("1 no report", None, never_reported()),
        ("2 looked ahead", Some(reported(6, known("accepted", 6))), ahead(6)),
        ("2 works ahead", Some(reported(7, known("accepted", 5))), ahead(7)),
        ("2 before 3", Some(with_failure(reported(6, being_changed()), 5, "no space")), ahead(6)),
        ("3", Some(with_failure(reported(5, known("other", 5)), 5, "no space")), failed_with("no space")),
        (
            "3 before 4",
            Some(with_failure(reported(5, known("old", 4)), 5, "no space")),
            failed_with("no space"),
        ),
        (
            "3 before 5",
            Some(with_failure(reported(5, being_changed()), 5, "no space")),
            failed_with("no space"),
        ),
        ("3 before 6", Some(with_failure(reported(5, unreadable()), 5, "no space")), failed_with("no space")),
        (
            "3 before 8",
            Some(with_failure(reported(5, known("accepted", 5)), 5, "unit is dead")),
            failed_with("unit is dead"),
        ),
        ("4", Some(reported(4, known("old", 4))), applying_from(Some(4))),
        ("4 fetched, not applied", Some(reported(5, known("old", 4))), applying_from(Some(4))),
        ("4 before 8: not confirmed", Some(reported(4, known("accepted", 4))), applying_from(Some(4))),
        ("4 before 6", Some(reported(4, unreadable())), applying_from(Some(4))),
        (
            "4 an earlier failure",
            Some(with_failure(reported(4, known("old", 4)), 4, "no space")),
            applying_from(Some(4)),
        ),
        ("5", Some(reported(5, being_changed())), applying_from(Some(5))),
        ("6", Some(reported(5, unreadable())), not_readable()),
        ("7 changed", Some(reported(5, known("other", 5))), drifted(DriftKind::Changed)),
        ("7 missing", Some(reported(5, absent(5))), drifted(DriftKind::Missing)),
        ("8", Some(reported(5, known("accepted", 5))), in_sync()),
        ("8 an earlier failure", Some(with_failure(reported(5, known("accepted", 5)), 4, "x")), in_sync()),
    ];
    for (rule, whole, expected) in cases {
        let observed = observed_target(whole, None);
        let report = target_report(&facts(&observed));
        assert_eq!(report, StatusReport { contact: ContactState::Current, last_known: expected }, "{rule}");
    }
}

#[test]
fn the_status_of_a_resource_is_the_first_rule_that_matches() {
    let done = || Some(reported(5, known("accepted", 5)));
    let behind = || Some(reported(4, known("old", 4)));
    let broken = || Some(with_failure(reported(5, known("old", 5)), 5, "no space"));
    let wanted = Some(digest("bundle"));
    let cases = [
        ("1 no report", None, None, wanted, never_reported()),
        ("1 target ahead", Some(reported(6, being_changed())), None, wanted, ahead(6)),
        ("1 ahead itself", done(), Some(reported(5, known("bundle", 8))), wanted, ahead(8)),
        (
            "2",
            done(),
            Some(with_failure(reported(5, known("bundle", 5)), 5, "not ready")),
            wanted,
            failed_with("not ready"),
        ),
        ("3", done(), Some(reported(5, being_changed())), wanted, applying_from(Some(5))),
        ("4 as accepted", done(), Some(reported(5, known("bundle", 5))), wanted, in_sync()),
        ("4 not touched by 5", behind(), Some(reported(4, known("bundle", 4))), wanted, in_sync()),
        ("4 despite the target", broken(), Some(reported(5, known("bundle", 5))), wanted, in_sync()),
        ("4 not wanted and gone", done(), Some(reported(5, absent(5))), None, in_sync()),
        ("5", broken(), Some(reported(5, known("old", 5))), wanted, failed_with("no space")),
        ("5 not there yet", broken(), None, wanted, failed_with("no space")),
        ("6 target behind", behind(), Some(reported(4, known("old", 4))), wanted, applying_from(Some(4))),
        ("6 new", behind(), None, wanted, applying_from(None)),
        (
            "6 target being changed",
            Some(reported(5, being_changed())),
            Some(reported(5, known("old", 5))),
            wanted,
            applying_from(Some(5)),
        ),
        ("6 seen earlier", done(), Some(reported(5, known("old", 4))), wanted, applying_from(Some(4))),
        ("7 never reported", done(), None, wanted, never_reported()),
        ("7 unreadable", done(), Some(reported(5, unreadable())), wanted, not_readable()),
        ("8 changed", done(), Some(reported(5, known("other", 5))), wanted, drifted(DriftKind::Changed)),
        ("8 missing", done(), Some(reported(5, absent(5))), wanted, drifted(DriftKind::Missing)),
        ("8 unexpected", done(), Some(reported(5, known("bundle", 5))), None, drifted(DriftKind::Unexpected)),
    ];
    for (rule, whole, resource, accepted, expected) in cases {
        let observed = observed_target(whole, resource);
        let report = resource_report(&facts(&observed), Kind::Bundle, &bundle().name, accepted);
        assert_eq!(report.last_known, expected, "{rule}");
    }
}

#[test]
fn a_target_is_offline_when_its_last_contact_is_longer_ago_than_the_limit() {
    let limit = OFFLINE_AFTER.as_millis() as i64;
    let now = at(1_000_000);
    let ago = |millis| at(1_000_000 - millis);
    for (last_contact, expected) in [
        (LastContact::Never, ContactState::Never),
        (LastContact::At(now), ContactState::Current),
        (LastContact::At(ago(limit)), ContactState::Current),
        (LastContact::At(ago(limit + 1)), ContactState::Lost { since: ago(limit + 1) }),
        (LastContact::At(ago(-limit)), ContactState::Current),
        (LastContact::At(ago(-limit - 1)), ContactState::Lost { since: ago(-limit - 1) }),
    ] {
        let observed = observed_target(Some(reported(5, known("other", 5))), None);
        let report = target_report(&TargetFacts { last_contact, now, ..facts(&observed) });
        let last_known = drifted(DriftKind::Changed);
        assert_eq!(report, StatusReport { contact: expected, last_known }, "{last_contact:?}");
    }
}

#[test]
fn every_resource_that_is_wanted_or_there_has_a_status() {
    let key = |name: &str| ResourceKey::new(Kind::Bundle, name);
    let mut observed = observed_target(Some(reported(5, known("accepted", 5))), None);
    for (name, seen) in [("kept", known("kept", 5)), ("left", known("left", 5)), ("gone", absent(5))] {
        observed.resources.insert(key(name), reported(5, seen));
    }
    let accepted = ["kept", "new"].iter().map(|name| (key(name), digest(name))).collect();
    let reports = resource_reports(&facts(&observed), &accepted);
    let statuses: Vec<_> = reports.iter().map(|(_, name, report)| (name, report.status())).collect();
    assert_eq!(
        statuses,
        [("kept", TargetStatus::InSync), ("left", TargetStatus::Drifted), ("new", TargetStatus::Unknown)]
    );
}

fn any_stored() -> impl Strategy<Value = StoredObservation> {
    let text = proptest::sample::select(vec!["accepted", "other"]);
    let observed = (text, 3..8_u64, 0..4_u8).prop_map(|(text, generation, which)| match which {
        0 => known(text, generation),
        1 => absent(generation),
        2 => being_changed(),
        _ => unreadable(),
    });
    (observed, 3..8_u64, proptest::option::of(3..8_u64)).prop_map(|(observed, generation, failure)| {
        let stored = reported(generation, observed);
        match failure {
            Some(generation) => with_failure(stored, generation, "no space"),
            None => stored,
        }
    })
}

proptest! {
    /// "In sync" is reported only for a resource that was observed as accepted, whatever the report contains.
    #[test]
    fn in_sync_requires_the_accepted_digest_under_the_accepted_generation(
        whole in proptest::option::of(any_stored()),
    ) {
        let observed = observed_target(whole.clone(), None);
        let status = target_report(&facts(&observed)).status();
        let is_as_accepted = whole.is_some_and(|whole| {
            whole.observation.observed == known("accepted", 5)
                && whole.order.generation <= ACCEPTED
                && failure_of(ACCEPTED, &whole).is_none()
        });
        prop_assert_eq!(status == TargetStatus::InSync, is_as_accepted);
    }

    #[test]
    fn a_resource_is_in_sync_only_if_it_was_seen_as_accepted(
        whole in proptest::option::of(any_stored()),
        resource in proptest::option::of(any_stored()),
        is_wanted in any::<bool>(),
    ) {
        let observed = observed_target(whole, resource.clone());
        let accepted = is_wanted.then(|| digest("accepted"));
        let report = resource_report(&facts(&observed), Kind::Bundle, &bundle().name, accepted);
        if report.status() == TargetStatus::InSync {
            let is_as_accepted = match resource.map(|stored| stored.observation.observed) {
                Some(Observed::Known { digest, .. }) => accepted == Some(digest),
                Some(Observed::Absent { .. }) => accepted.is_none(),
                _ => false,
            };
            prop_assert!(is_as_accepted);
        }
    }

    #[test]
    fn losing_contact_changes_nothing_but_the_contact(
        whole in proptest::option::of(any_stored()),
        resource in proptest::option::of(any_stored()),
    ) {
        let observed = observed_target(whole, resource);
        let current = facts(&observed);
        let lost = TargetFacts { now: current.now.plus(OFFLINE_AFTER * 2), ..current };
        prop_assert_eq!(target_report(&current).last_known, target_report(&lost).last_known);
        prop_assert_eq!(target_report(&lost).status(), TargetStatus::Offline);
        let of_resource = |facts| resource_report(facts, Kind::Bundle, &bundle().name, None);
        prop_assert_eq!(of_resource(&current).last_known, of_resource(&lost).last_known);
        prop_assert_eq!(of_resource(&lost).status(), TargetStatus::Offline);
    }
}
