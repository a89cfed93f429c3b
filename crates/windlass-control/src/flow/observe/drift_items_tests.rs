//! Items are replaced module by module, and written only if they changed.

use windlass_core::digest::Digest;
use windlass_core::drift::MAX_ITEMS_OF_TARGET;
use windlass_core::host::FieldDifference;
use windlass_core::observed::{
    AgentReport, Coverage, Enrolment, Generation, Observation, Observed, ReportOrder, Sighting,
};
use windlass_core::resource::{DriftMode, Kind, ResourceKey};
use windlass_core::time::Timestamp;

use super::*;
use crate::flow::observe::group::MergedReport;
use crate::reports::check::CheckedReport;

fn item(module: &str, name: &str, mode: &str) -> DriftedItem {
    DriftedItem {
        key: ItemKey { kind: "path".to_owned(), name: name.to_owned() },
        module: module.to_owned(),
        mode: DriftMode::Report,
        since: Timestamp::from_millis(5),
        fields: vec![FieldDifference::value("mode", Some(mode), Some("0644"))],
        problem: None,
    }
}

fn head(item: &DriftedItem) -> DriftHead {
    DriftHead {
        item: item.key.clone(),
        module: item.module.clone(),
        since: item.since,
        digest: item.digest(),
        bytes: item.bytes(),
    }
}

fn checked(sequence: u64, coverage: Coverage, modules: &[&str], items: Vec<DriftedItem>) -> CheckedReport {
    let moment = Timestamp::from_millis(1);
    let seen = Sighting { generation: Generation(1), since: moment, at: moment };
    let observed = Observed::Known { digest: Digest::of(b"x"), seen };
    let observation = Observation { observed, failure: None };
    let resources =
        modules.iter().map(|name| (ResourceKey::new(Kind::Module, *name), observation.clone())).collect();
    let report = AgentReport {
        order: ReportOrder { enrolment: Enrolment(1), generation: Generation(1), sequence },
        coverage,
        target: observation,
        resources,
    };
    CheckedReport { report, items, left_out: 0, events: Vec::new(), events_dropped: 0, facts: None }
}

fn names(changes: &ItemChanges) -> (Vec<&str>, Vec<&str>) {
    let gone = changes.gone.iter().map(|item| item.name.as_str()).collect();
    (gone, changes.changed.iter().map(|(_, item)| item.key.name.as_str()).collect())
}

#[test]
fn the_items_of_listed_modules_are_replaced_and_those_of_others_stay() {
    let (a, b, c) = (item("nginx", "/a", "1"), item("nginx", "/b", "1"), item("motd", "/c", "1"));
    let stored = [head(&a), head(&b), head(&c)];
    let mut merged = MergedTarget::default();
    merged.merge(&checked(1, Coverage::Complete, &["nginx", "motd"], vec![a.clone(), b, c]));
    merged.listed.clear();
    merged.merge(&checked(2, Coverage::Partial, &["nginx"], vec![a.clone(), item("nginx", "/d", "1")]));
    assert_eq!(names(&item_changes(&merged, &stored)), (vec!["/b"], vec!["/d"]));
    merged.listed.clear();
    merged.merge(&checked(3, Coverage::Partial, &["nginx"], vec![item("nginx", "/a", "2")]));
    assert_eq!(names(&item_changes(&merged, &stored)), (vec!["/b"], vec!["/a"]), "it differs otherwise");
    merged.listed.clear();
    merged.merge(&checked(4, Coverage::Complete, &["nginx"], vec![a]));
    assert_eq!(names(&item_changes(&merged, &stored)), (vec!["/b", "/c"], vec![]), "motd is no longer there");
}

#[test]
fn an_older_report_changes_no_items_and_brings_no_events() {
    let mut merged = MergedTarget::default();
    merged.merge(&checked(5, Coverage::Complete, &["nginx"], Vec::new()));
    let older = checked(4, Coverage::Complete, &["nginx"], vec![item("nginx", "/a", "1")]);
    let older = CheckedReport { events_dropped: 3, left_out: 9, ..older };
    for _ in 0..2 {
        let newest = ReportOrder { enrolment: Enrolment(1), generation: Generation(1), sequence: 5 };
        let expected = MergedReport::Merged { needs_complete: false, newer: Some(newest) };
        assert_eq!(merged.merge(&older), expected, "its agent must know that nothing was stored");
    }
    assert_eq!(item_changes(&merged, &[]), ItemChanges::default());
    assert_eq!((merged.events_dropped, merged.left_out), (0, Some(0)));
}

#[test]
fn modules_that_partial_reports_add_up_to_are_bounded() {
    use windlass_core::host::MAX_MODULES;
    let mut merged = MergedTarget::default();
    let names: Vec<String> = (0..=MAX_MODULES).map(|index| format!("m{index}")).collect();
    for (sequence, chunk) in names.chunks(100).enumerate() {
        let modules: Vec<&str> = chunk.iter().map(String::as_str).collect();
        let result = merged.merge(&checked(sequence as u64, Coverage::Partial, &modules, Vec::new()));
        let expected = match chunk.len() {
            100 => MergedReport::Merged { needs_complete: true, newer: None },
            _ => MergedReport::TooManyModules,
        };
        assert_eq!(result, expected);
    }
    assert_eq!(merged.after.resources.len(), MAX_MODULES);
}

#[test]
fn items_that_partial_reports_add_up_to_are_bounded_and_counted() {
    let stored: Vec<DriftHead> =
        (0..MAX_ITEMS_OF_TARGET - 1).map(|index| head(&item("motd", &format!("/{index}"), "1"))).collect();
    let mut merged = MergedTarget::default();
    let items = vec![item("nginx", "/x", "1"), item("nginx", "/y", "1"), item("nginx", "/x", "2")];
    merged.merge(&checked(1, Coverage::Complete, &["nginx", "motd"], items));
    merged.listed.remove("motd");
    let changes = item_changes(&merged, &stored);
    assert_eq!((changes.changed.len(), changes.left_out), (1, 1));
    assert!(changes.gone.is_empty());
}
