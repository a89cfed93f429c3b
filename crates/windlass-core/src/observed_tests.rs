//! How reports are merged into observed state.

use proptest::prelude::*;

use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn order(enrolment: u64, generation: u64, sequence: u64) -> ReportOrder {
    ReportOrder { enrolment: Enrolment(enrolment), generation: Generation(generation), sequence }
}

fn known(order: ReportOrder, text: &str, millis: i64) -> Observation {
    let seen = Sighting { generation: order.generation, since: at(millis), at: at(millis) };
    let digest = Digest::of(text.as_bytes());
    Observation { observed: Observed::Known { digest, seen }, failure: None }
}

/// A report that says the same `text` of the target and of each of these bundles.
fn report(order: ReportOrder, coverage: Coverage, text: &str, bundles: &[&str]) -> AgentReport {
    let resources =
        bundles.iter().map(|name| (ResourceKey::new(Kind::Bundle, *name), known(order, text, 0))).collect();
    AgentReport { order, coverage, target: known(order, text, 0), resources }
}

fn merged<'r>(reports: impl IntoIterator<Item = &'r AgentReport>) -> ObservedTarget {
    let mut target = ObservedTarget::default();
    for report in reports {
        target.merge(report);
    }
    target
}

fn names(target: &ObservedTarget) -> Vec<&str> {
    target.resources.iter().map(|(_, name, _)| name).collect()
}

#[test]
fn an_older_report_never_replaces_a_newer_one_whatever_its_time() {
    for (newer, older) in
        [(order(1, 5, 2), order(1, 5, 1)), (order(1, 5, 1), order(1, 4, 9)), (order(2, 1, 1), order(1, 9, 9))]
    {
        let newer = AgentReport {
            target: known(newer, "newer", 1000),
            ..report(newer, Coverage::Partial, "newer", &["a"])
        };
        let older = AgentReport {
            target: known(older, "older", 9000),
            ..report(older, Coverage::Partial, "older", &["a"])
        };
        let mut target = merged([&newer]);
        assert_eq!(target.merge(&older), MergeEffect::Unchanged, "{older:?}");
        assert_eq!(target, merged([&older, &newer]));
    }
}

#[test]
fn a_late_report_still_tells_about_resources_that_later_ones_did_not_list() {
    let first = report(order(1, 1, 1), Coverage::Partial, "first", &["a", "b"]);
    let second = report(order(1, 1, 2), Coverage::Partial, "second", &["b"]);
    let mut target = merged([&second]);
    assert_eq!(target.merge(&first), MergeEffect::Changed);
    assert_eq!(names(&target), ["a", "b"]);
    assert_eq!(target.whole.as_ref().map(|whole| whole.order), Some(second.order));
}

#[test]
fn a_complete_report_drops_what_it_does_not_list_and_an_older_one_does_not_bring_it_back() {
    let partial = report(order(1, 1, 1), Coverage::Partial, "partial", &["a", "b"]);
    let complete = report(order(1, 1, 2), Coverage::Complete, "complete", &["b"]);
    let mut target = merged([&partial, &complete]);
    assert_eq!(names(&target), ["b"]);
    assert_eq!(target.merge(&partial), MergeEffect::Unchanged);
    let later = report(order(1, 1, 3), Coverage::Partial, "later", &["c"]);
    assert_eq!(names(&merged([&later, &complete])), ["b", "c"], "the later report still holds");
}

#[test]
fn a_new_enrolment_counts_from_the_start_and_drops_what_the_machine_before_it_had() {
    let before = report(order(1, 7, 900), Coverage::Complete, "before", &["a"]);
    let after = report(order(2, 0, 1), Coverage::Partial, "after", &["b"]);
    let mut target = merged([&before]);
    assert_eq!(target.merge(&after), MergeEffect::Changed);
    assert_eq!((names(&target), target.complete_as_of), (vec!["b"], None));
    assert_eq!(target.merge(&before), MergeEffect::Unchanged);
}

#[test]
fn a_report_with_the_order_of_a_stored_one_changes_nothing() {
    let stored = report(order(1, 1, 1), Coverage::Complete, "one", &["a"]);
    let mut target = merged([&stored]);
    let again = report(order(1, 1, 1), Coverage::Complete, "another", &["a", "b"]);
    assert_eq!(target.merge(&again), MergeEffect::Unchanged);
    assert_eq!(target, merged([&stored]));
}

#[test]
fn what_an_agent_writes_is_bounded_and_safe_to_show() {
    let long = AgentMessage::new(&"ä".repeat(5000));
    assert_eq!(long.as_str().chars().count(), AgentMessage::MAX_CHARS);
    assert!(long.as_str().ends_with('…'));
    let hostile = AgentMessage::new("\u{1b}[2Jfetch https://bot:hunter2@git.example/x failed");
    assert!(!hostile.as_str().contains('\u{1b}') && !hostile.as_str().contains("hunter2"), "{hostile}");
    assert_eq!(AgentMessage::new("exit code 100").to_string(), "exit code 100");
}

fn any_report() -> impl Strategy<Value = AgentReport> {
    let names = proptest::sample::subsequence(vec!["a", "b", "c"], 0..=3);
    (0..3_u64, 0..4_u64, 0..6_u64, any::<bool>(), names).prop_map(
        |(enrolment, generation, sequence, is_complete, names)| {
            let coverage = if is_complete { Coverage::Complete } else { Coverage::Partial };
            let order = order(enrolment, generation, sequence);
            report(order, coverage, &format!("{order:?} {names:?}"), &names)
        },
    )
}

/// Reports of which no two have the same order, and the same ones shuffled.
fn reports_twice() -> impl Strategy<Value = (Vec<AgentReport>, Vec<AgentReport>)> {
    proptest::collection::vec(any_report(), 0..12).prop_flat_map(|mut reports| {
        reports.sort_by_key(|report| report.order);
        reports.dedup_by_key(|report| report.order);
        (Just(reports.clone()).prop_shuffle(), Just(reports).prop_shuffle())
    })
}

proptest! {
    #[test]
    fn the_order_of_arrival_does_not_matter((one, other) in reports_twice()) {
        prop_assert_eq!(merged(&one), merged(&other));
    }

    #[test]
    fn merging_the_same_report_again_changes_nothing((reports, again) in reports_twice()) {
        let mut target = merged(&reports);
        let before = target.clone();
        for report in &again {
            prop_assert_eq!(target.merge(report), MergeEffect::Unchanged);
        }
        prop_assert_eq!(target, before);
    }

    #[test]
    fn a_merge_never_replaces_a_newer_report_with_an_older_one(reports in proptest::collection::vec(any_report(), 0..12)) {
        let mut target = ObservedTarget::default();
        for report in &reports {
            let before = target.clone();
            let effect = target.merge(report);
            prop_assert_eq!(effect == MergeEffect::Changed, target != before);
            let orders = [&before, &target].map(|it| it.whole.as_ref().map(|whole| whole.order));
            prop_assert!(orders[0] <= orders[1]);
            for (kind, name, known) in before.resources.iter() {
                let newest = target.resources.get(kind, name).map(|stored| stored.order);
                let is_dropped = newest.is_none() && known.order < report.order;
                prop_assert!(is_dropped || newest >= Some(known.order));
            }
        }
    }

    #[test]
    fn the_newest_report_is_what_is_stored_of_the_target((reports, _) in reports_twice()) {
        let newest = reports.iter().max_by_key(|report| report.order);
        let target = merged(&reports);
        prop_assert_eq!(target.whole, newest.map(|newest| stored(newest.order, &newest.target)));
    }
}
