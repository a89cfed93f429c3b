//! Digests and times of what the agent sees.

use serde_json::{Map, json};
use windlass_api::agent::{ObservationBody, ObservedBody};
use windlass_core::digest::Digest;
use windlass_core::host::{BlobDigest, FieldDifference, HostItemId, NodeDocument, NodeModule};
use windlass_core::resource::DriftMode;
use windlass_core::time::Timestamp;

use super::view::{ApplyFailures, HostView, LookResult};
use crate::target::host::ItemDrift;

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(super) fn document(modules: &[&str]) -> NodeDocument {
    let modules = modules.iter().map(|name| NodeModule {
        name: (*name).to_owned(),
        version: None,
        package: BlobDigest::of(name.as_bytes()),
        priority: 50,
        depends_on: Vec::new(),
        config: Map::new(),
    });
    NodeDocument { node: Map::new(), config: Map::new(), modules: modules.collect() }
}

pub(super) fn drifted(module: &str, observed: &str) -> ItemDrift {
    ItemDrift {
        item: HostItemId { kind: "path", name: format!("/{module}") },
        module: module.to_owned(),
        mode: DriftMode::Report,
        found: Ok(vec![FieldDifference::value("mode", Some(observed), Some("0644"))]),
    }
}

fn look(view: &HostView, document: &NodeDocument, drift: Vec<ItemDrift>, millis: i64) -> HostView {
    let failures = ApplyFailures::default();
    view.after_look(LookResult { document, generation: 3, drift, failures, at: at(millis) })
}

fn known(observation: &ObservationBody) -> (Digest, i64, i64) {
    match &observation.observed {
        ObservedBody::Known { digest, since, at, .. } => (*digest, since.as_millis(), at.as_millis()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn in_sync_has_the_digests_of_the_document_and_its_modules() {
    let document = document(&["a", "b"]);
    let first = look(&HostView::of_nothing(at(0)), &document, Vec::new(), 10);
    let second = look(&first, &document, Vec::new(), 20);
    assert_eq!(known(&second.target), (document.digest(), 10, 20), "since the first look");
    assert_eq!(known(&second.modules["a"]), (document.modules[0].digest(), 10, 20));
}

#[test]
fn drift_has_a_digest_that_stays_while_the_differences_stay() {
    let document = document(&["a", "b"]);
    let in_sync = look(&HostView::of_nothing(at(0)), &document, Vec::new(), 10);
    let first = look(&in_sync, &document, vec![drifted("a", "0600")], 20);
    let again = look(&first, &document, vec![drifted("a", "0600")], 30);
    let other = look(&again, &document, vec![drifted("a", "0666")], 40);
    let (digest, since, looked) = known(&again.target);
    assert_ne!(digest, document.digest());
    assert_eq!((digest, since, looked), (known(&first.target).0, 20, 30));
    assert_eq!(known(&again.modules["b"]), (document.modules[1].digest(), 10, 30), "b did not change");
    assert_eq!(again.drift[0].since, at(20));
    assert_ne!(known(&other.modules["a"]).0, known(&again.modules["a"]).0);
    assert_eq!(other.drift[0].since, at(40));
    assert_eq!(known(&look(&other, &document, Vec::new(), 50).target), (document.digest(), 50, 50));
}

#[test]
fn what_cannot_be_compared_is_unreadable_unless_something_else_differs() {
    let document = document(&["a", "b"]);
    let unreadable = ItemDrift { found: Err("permission denied".to_owned()), ..drifted("a", "") };
    let view = look(&HostView::of_nothing(at(0)), &document, vec![unreadable.clone()], 10);
    let ObservedBody::Unreadable { message, .. } = &view.target.observed else { panic!("{view:?}") };
    assert_eq!(message, "path /a: permission denied");
    assert_eq!(known(&view.modules["b"]).0, document.modules[1].digest());
    let view = look(&view, &document, vec![unreadable, drifted("b", "0600")], 20);
    assert!(matches!(view.target.observed, ObservedBody::Known { .. }));
    assert!(matches!(view.modules["a"].observed, ObservedBody::Unreadable { .. }));
}

#[test]
fn a_failure_keeps_the_time_of_its_first_attempt_until_it_is_over() {
    let document = document(&["a", "b"]);
    let failures = ApplyFailures {
        generation: 3,
        target: None,
        modules: [("a".to_owned(), "no space".to_owned())].into(),
    };
    let with = |view: &HostView, failures: &ApplyFailures, millis| {
        let failures = failures.clone();
        view.after_look(LookResult {
            document: &document,
            generation: 3,
            drift: Vec::new(),
            failures,
            at: at(millis),
        })
    };
    let first = with(&HostView::of_nothing(at(0)), &failures, 10);
    let changing = first.while_changing(document.modules.iter(), at(15));
    let second = with(&changing, &failures, 20);
    let failure = second.target.failure.clone().unwrap();
    assert_eq!(
        (failure.generation, failure.since, failure.message.as_str()),
        (3, at(10), "module a: no space")
    );
    assert_eq!(second.modules["a"].failure.as_ref().unwrap().since, at(10));
    assert_eq!(second.modules["b"].failure, None);
    let next = with(&second, &ApplyFailures { generation: 4, ..failures }, 30);
    assert_eq!(next.target.failure.unwrap().since, at(30), "another generation fails anew");
    assert_eq!(with(&second, &ApplyFailures::default(), 40).target.failure, None);
}

#[test]
fn nothing_is_claimed_about_what_is_being_changed() {
    let document = document(&["a", "b"]);
    let before = look(&HostView::of_nothing(at(0)), &document, vec![drifted("a", "0600")], 10);
    let changing = before.while_changing(document.modules.iter().take(1), at(20));
    assert_eq!(changing.target.observed, ObservedBody::BeingChanged { since: at(20) });
    assert_eq!(changing.modules["a"].observed, ObservedBody::BeingChanged { since: at(20) });
    assert_eq!(changing.modules["b"], before.modules["b"], "b is left alone");
    assert!(changing.drift.is_empty());
    let again = changing.while_changing(document.modules.iter().take(1), at(30));
    assert_eq!(again.target.observed, ObservedBody::BeingChanged { since: at(20) });
}

#[test]
fn more_drift_than_fits_is_counted() {
    let document = document(&["a"]);
    let many = (0..1_500).map(|number| ItemDrift {
        item: HostItemId { kind: "path", name: format!("/{number}") },
        ..drifted("a", "0600")
    });
    let view = look(&HostView::of_nothing(at(0)), &document, many.collect(), 10);
    assert_eq!((view.drift.len(), view.left_out["a"]), (1_000, 500));
    let large = (0..40).map(|number| ItemDrift {
        item: HostItemId { kind: "path", name: format!("/{number}") },
        found: Ok(vec![FieldDifference::value("x", Some(&"y ".repeat(20_000)), None)]),
        ..drifted("a", "")
    });
    let view = look(&HostView::of_nothing(at(0)), &document, large.collect(), 10);
    assert!(serde_json::to_vec(&json!(view.drift)).unwrap().len() < windlass_api::agent::MAX_REPORT_BYTES);
    assert_eq!(view.drift.len() as u64 + view.left_out.get("a").copied().unwrap_or(0), 40);
}
