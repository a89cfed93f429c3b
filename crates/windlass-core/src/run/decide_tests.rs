//! What a run proposes, what it leaves out, and what it may not propose.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::desired::tests::{declared, made_up};
use crate::digest::Digest;
use crate::drift::Acceptance;
use crate::resource::{Kind, ResourceKey};

fn clusters(count: usize) -> String {
    let items: String = (0..count).map(|number| format!("{{name: c-{number:02}}}, ")).collect();
    format!("clusters: [{items}]")
}

fn ours() -> Owner {
    Owner::Repository("ours".to_owned())
}

fn theirs() -> Owner {
    Owner::Repository("theirs".to_owned())
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

/// An acceptance of this difference, for ten seconds.
fn acceptance(key: &ResourceKey, desired: Option<Digest>, accepted: Option<Digest>) -> Acceptance {
    Acceptance {
        key: key.clone(),
        desired,
        accepted,
        until: Some(at(10)),
        reason: "a trial".to_owned(),
        by: "ann@example.com".to_owned(),
        at: at(0),
    }
}

fn acceptance_of(change: &Change) -> Acceptance {
    acceptance(&change.key, change.desired, change.base)
}

/// The decision at a given second, when this repository owns everything and these differences were accepted.
fn decided(
    before: &str,
    after: &str,
    accepts: impl Fn(&Change) -> Option<Acceptance>,
    second: i64,
) -> RunDecision {
    let (accepted, after) = (Accepted::from_desired(&declared(before), &ours()), declared(after));
    let acceptances: Acceptances =
        compare(&after, &accepted, &ours()).changes.iter().filter_map(accepts).collect();
    decide(&after, &accepted, &ours(), &acceptances, MassDestroyConfirmation::Missing, at(second))
}

fn steps(plan: &Plan) -> Vec<String> {
    plan.steps.iter().map(|step| format!("{} {}", step.change.action(), step.change.key)).collect()
}

const BEFORE: &str = "clusters: [{name: a}, {name: b}, {name: gone}]";
const AFTER: &str = "clusters: [{name: a, labels: {x: y}}, {name: b, labels: {x: y}}, {name: new}]";

#[test]
fn what_someone_said_is_meant_is_left_out_with_who_said_so_and_everything_else_is_planned() {
    let all = ["update cluster a", "update cluster b", "create cluster new", "destroy cluster gone"];
    let none = decided(BEFORE, AFTER, |_| None, 0);
    assert_eq!((steps(&none.plan), none.accepted_drift.len()), (all.map(str::to_owned).to_vec(), 0));
    for (name, told) in ["a", "b", "new", "gone"].iter().zip(all) {
        let some =
            decided(BEFORE, AFTER, |change| (change.key.name == *name).then(|| acceptance_of(change)), 9);
        let [(change, reason)] = some.accepted_drift.as_slice() else { panic!("{:?}", some.accepted_drift) };
        assert_eq!(format!("{} {}", change.action(), change.key), told);
        assert_eq!(reason, "accepted by ann@example.com: a trial");
        let left: Vec<&str> = all.into_iter().filter(|step| *step != told).collect();
        assert_eq!(steps(&some.plan), left);
    }
    let everything = decided(BEFORE, AFTER, |change| Some(acceptance_of(change)), 9);
    assert!(everything.plan.is_empty());
    assert_eq!(everything.accepted_drift.len(), all.len());
}

#[test]
fn what_was_meant_of_another_difference_or_for_a_time_that_is_over_is_planned() {
    let accepts: [fn(&Change) -> Acceptance; 4] = [
        |change| acceptance(&change.key, Some(Digest::of(b"another commit")), change.base),
        |change| acceptance(&change.key, change.desired, Some(Digest::of(b"another state"))),
        |change| acceptance(&change.key, change.base, change.desired),
        |change| acceptance(&ResourceKey::new(Kind::Node, &*change.key.name), change.desired, change.base),
    ];
    for accepts in accepts {
        let decided = decided(BEFORE, AFTER, |change| Some(accepts(change)), 9);
        assert_eq!((decided.plan.steps.len(), decided.accepted_drift.len()), (4, 0));
    }
    let late = decided(BEFORE, AFTER, |change| Some(acceptance_of(change)), 10);
    assert_eq!((late.plan.steps.len(), late.accepted_drift.len()), (4, 0));
}

#[test]
fn nothing_that_was_meant_is_counted_among_what_would_be_destroyed() {
    let stopped = |accepts: &dyn Fn(&Change) -> Option<Acceptance>| {
        decided(&clusters(11), "", accepts, 0).plan.stopped.map(|stopped| (stopped.destroys, stopped.owned))
    };
    assert_eq!(stopped(&|_| None), Some((11, 11)));
    assert_eq!(stopped(&|change| (change.key.name == "c-00").then(|| acceptance_of(change))), None);
}

#[test]
fn a_plan_that_destroys_most_is_refused_whatever_else_is_wrong_with_it() {
    let plan = decided(&clusters(11), "", |_| None, 0).plan;
    let error = refusal_of(&plan).unwrap();
    assert_eq!(error.code, "mass-destroy");
    assert_eq!(error.message, "this would destroy 11 of the 11 resources the repository owns");
    assert!(error.help.ends_with("sync with confirm_mass_destroy"), "{}", error.help);
    let mut broken = plan;
    broken.problems = dangling().problems;
    assert_eq!(refusal_of(&broken), Some(error));
}

/// A plan that destroys a resource that a node refers to.
fn dangling() -> Plan {
    let node = "nodes: [{hostname: n, template: t}]";
    let before = format!("templates: [{{name: t, node_platform: debian-12-amd64}}]\n{node}");
    decided(&before, node, |_| None, 0).plan
}

#[test]
fn a_plan_with_an_error_is_refused_for_the_first_one() {
    let plan = dangling();
    let error = refusal_of(&plan).unwrap();
    assert_eq!(error.code, "reference-destroyed");
    assert_eq!((&error.message, &error.help), (&plan.problems[0].message, &plan.problems[0].help));
}

#[test]
fn what_another_repository_owns_stops_nothing_else() {
    let accepted = Accepted::from_desired(&declared("clusters: [{name: shared}]"), &theirs());
    let after = declared("clusters: [{name: shared, labels: {x: y}}, {name: new}]");
    let none = Acceptances::default();
    let mut plan = decide(&after, &accepted, &ours(), &none, MassDestroyConfirmation::Missing, at(0)).plan;
    assert_eq!(steps(&plan), ["create cluster new", "update cluster shared"]);
    assert_eq!(plan.problems.iter().map(|problem| problem.code).collect::<Vec<_>>(), [Code::OwnedElsewhere]);
    assert_eq!(refusal_of(&plan), None);
    // It does not hide a later error.
    plan.problems.extend(dangling().problems);
    assert_eq!(refusal_of(&plan).unwrap().code, "reference-destroyed");
}

#[test]
fn warnings_stop_nothing() {
    let module = |workers| format!("modules: [{{name: m, version: 1.0.0, config: {{workers: {workers}}}}}]");
    let plan = decided(&module(1), &module(2), |_| None, 0).plan;
    assert_eq!(plan.problems[0].code, Code::VersionReused);
    assert_eq!(refusal_of(&plan), None);
    assert_eq!(refusal_of(&RunDecision::nothing("acme").plan), None);
}

#[test]
fn what_is_not_offered_is_shown_with_its_reason() {
    let before = "clusters: [{name: a}, {name: b}, {name: kept, protect: true}]";
    let after = "clusters: [{name: a, labels: {x: y}}, {name: b, labels: {x: y}}, {name: new}]";
    let decided = decided(before, after, |change| (change.key.name == "b").then(|| acceptance_of(change)), 0);
    assert_eq!(steps(&decided.plan), ["update cluster a", "create cluster new"]);
    let shown = |action: &str, name: &str, reason: &str| json!({"proposal_id": null, "action": action, "kind": "cluster", "name": name, "reason": reason, "at": null});
    let protected = "it has `protect: true`; remove that in a separate change first";
    let expected = vec![
        shown("destroy_cluster", "kept", protected),
        shown("update_cluster", "b", "accepted by ann@example.com: a trial"),
        shown("create_cluster", "new", "rejected until git or the accepted state changes"),
    ];
    assert_eq!(skipped_changes(&decided, &[1]), expected);
    assert_eq!(skipped_changes(&decided, &[]), expected[..2]);
    assert_eq!(skipped_changes(&RunDecision::nothing("acme"), &[]), [Value::Null; 0]);
}

/// Two fleets, the owners of the first one's resources, and the accepted differences: exact, outdated, or none.
fn fleets_and_acceptances() -> impl Strategy<Value = (Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>)> {
    let tape = || vec(any::<u8>(), 0..160);
    (tape(), tape(), vec(any::<u8>(), 7), vec(any::<u8>(), 11))
}

/// The differences, those accepted exactly, and the decision about them.
fn decide_about(
    (before, after, owners, accepted): &(Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>),
) -> (Vec<Change>, RunDecision) {
    let after = made_up(after);
    let mut state = Accepted::from_desired(&made_up(before), &ours());
    for (resource, owner) in state.resources.values_mut().zip(owners.iter().cycle()) {
        resource.owner = match owner % 6 {
            0 => theirs(),
            1 => Owner::Nobody,
            _ => ours(),
        };
    }
    let changes = compare(&after, &state, &ours()).changes;
    let acceptances: Acceptances = changes
        .iter()
        .zip(accepted.iter().cycle())
        .filter_map(|(change, how)| match how % 4 {
            0 => Some(acceptance_of(change)),
            1 => Some(acceptance(&change.key, change.base, Some(Digest::of(b"another state")))),
            _ => None,
        })
        .collect();
    let decided = decide(&after, &state, &ours(), &acceptances, MassDestroyConfirmation::MassDestroy, at(0));
    (changes, decided)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_difference_is_exactly_one_of_planned_accepted_and_refused(fleets_and_acceptances in fleets_and_acceptances()) {
        let (changes, decided) = decide_about(&fleets_and_acceptances);
        let planned = decided.plan.steps.iter().map(|step| &step.change.key);
        let accepted = decided.accepted_drift.iter().map(|(change, _)| &change.key);
        let refused = decided.plan.refusals.iter().map(|refusal| &refusal.resource);
        let mut all: Vec<&ResourceKey> = planned.chain(accepted).chain(refused).collect();
        all.sort();
        prop_assert_eq!(all, changes.iter().map(|change| &change.key).collect::<Vec<_>>());
        // Each is the change of the comparison.
        let compared: BTreeMap<&ResourceKey, &Change> = changes.iter().map(|change| (&change.key, change)).collect();
        let kept = decided.plan.steps.iter().map(|step| &step.change);
        for change in kept.chain(decided.accepted_drift.iter().map(|(change, _)| change)) {
            prop_assert_eq!(Some(&change), compared.get(&change.key));
        }
        let acceptance_of = changes.iter().zip(fleets_and_acceptances.3.iter().cycle()).filter(|(_, how)| **how % 4 == 0);
        let acceptance_of: Vec<&ResourceKey> = acceptance_of.map(|(change, _)| &change.key).collect();
        prop_assert_eq!(decided.accepted_drift.iter().map(|(change, _)| &change.key).collect::<Vec<_>>(), acceptance_of);
    }

    #[test]
    fn each_difference_that_is_not_proposed_is_shown_once(fleets_and_acceptances in fleets_and_acceptances(), held in vec(any::<bool>(), 13)) {
        let (_, decided) = decide_about(&fleets_and_acceptances);
        let held: Vec<usize> = (0..decided.plan.steps.len()).filter(|position| held[position % held.len()]).collect();
        let shown = skipped_changes(&decided, &held);
        let named: BTreeSet<(&str, &str)> = shown
            .iter()
            .map(|one| (one["kind"].as_str().unwrap(), one["name"].as_str().unwrap()))
            .collect();
        prop_assert_eq!(named.len(), shown.len());
        let refused = decided.plan.refusals.iter().map(|refusal| &refusal.resource);
        let accepted = decided.accepted_drift.iter().map(|(change, _)| &change.key);
        let held = held.iter().map(|position| &decided.plan.steps[*position].change.key);
        let expected: BTreeSet<(&str, &str)> =
            refused.chain(accepted).chain(held).map(|key| (key.kind.slug(), key.name.as_str())).collect();
        prop_assert_eq!(named, expected);
    }
}
