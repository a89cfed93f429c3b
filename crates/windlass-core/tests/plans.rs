//! Ownership, adoption, guards, cap and grouping, each on the smallest fleet that shows it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use windlass_core::accepted::{Accepted, Owner};
use windlass_core::code::Code;
use windlass_core::desired::Desired;
use windlass_core::diff::{Action, Cause, compare};
use windlass_core::manifest::{ReadCache, ReadContext, SourceFile};
use windlass_core::plan::{self, MassDestroyConfirmation, Plan, ProposalHistory, StoredPlan, members_of};
use windlass_core::resource::{Kind, ResourceKey};

fn desired(body: &str) -> Desired {
    let text = format!("version: 1\naccount: acme\n{body}");
    let files = [SourceFile::new("fleet.yaml", text.into_bytes())];
    let fleet = ReadCache::default().read_once(&files, &ReadContext::offline());
    assert!(!fleet.has_errors(), "{:?}", fleet.diagnostics);
    fleet.desired
}

fn repository(name: &str) -> Owner {
    Owner::Repository(name.to_owned())
}

fn plan_from(before: &str, after: &str) -> Plan {
    let accepted = Accepted::from_desired(&desired(before), &repository("ours"));
    let after = desired(after);
    plan::build(&after, compare(&after, &accepted, &repository("ours")), MassDestroyConfirmation::Missing)
}

fn steps(plan: &Plan) -> Vec<String> {
    plan.steps.iter().map(|step| format!("{} {}", step.change.action(), step.change.key)).collect()
}

fn clusters(range: std::ops::Range<usize>) -> String {
    let items: Vec<String> = range.map(|number| format!("  c-{number:03}: {{}}\n")).collect();
    if items.is_empty() { String::new() } else { format!("clusters:\n{}", items.concat()) }
}

#[test]
fn explicit_defaults_are_no_difference() {
    let plan = plan_from(
        "bundles: [{name: b, path: x}]",
        "bundles: [{name: b, path: x, prune: true, wait: true, timeout: 300s, targets: [], protect: false}]",
    );
    assert!(plan.is_empty(), "{:?}", steps(&plan));
}

#[test]
fn an_update_tells_fields_with_their_defaults() {
    let plan = plan_from("bundles: [{name: b, path: x}]", "bundles: [{name: b, path: y, prune: false}]");
    let fields = plan.steps[0].change.fields();
    let told: Vec<String> =
        fields.iter().map(|field| format!("{}: {} -> {}", field.path, field.before, field.after)).collect();
    assert_eq!(told, ["path: \"x\" -> \"y\"", "prune: true -> false"]);
}

#[test]
fn two_repositories_in_one_account_do_not_change_each_others_resources() {
    let accepted = Accepted::from_desired(&desired("clusters: [{name: theirs}]"), &repository("theirs"));
    let ours = desired("clusters: [{name: ours}]");
    let plan =
        plan::build(&ours, compare(&ours, &accepted, &repository("ours")), MassDestroyConfirmation::Missing);
    assert_eq!(steps(&plan), ["create cluster ours"]);
    assert_eq!(plan.problems, []);
}

#[test]
fn declaring_a_resource_of_another_repository_is_an_error_that_names_the_owner() {
    let accepted = Accepted::from_desired(&desired("clusters: [{name: shared}]"), &repository("theirs"));
    let ours = desired("clusters: [{name: shared, labels: {a: b}}, {name: ours}]");
    let plan =
        plan::build(&ours, compare(&ours, &accepted, &repository("ours")), MassDestroyConfirmation::Missing);
    assert_eq!(steps(&plan), ["create cluster ours", "update cluster shared"]);
    assert_eq!(plan.steps[1].change.cause, Cause::Contested);
    assert_eq!(plan.problems.len(), 1);
    assert_eq!(plan.problems[0].code, Code::OwnedElsewhere);
    assert!(plan.problems[0].message.contains("`theirs`"));
}

#[test]
fn a_resource_without_an_owner_is_adopted_by_an_update() {
    let accepted = Accepted::from_desired(
        &desired("clusters: [{name: same}, {name: other}, {name: alone}]"),
        &Owner::Nobody,
    );
    let ours = desired("clusters: [{name: same}, {name: other, labels: {a: b}}]");
    let plan =
        plan::build(&ours, compare(&ours, &accepted, &repository("ours")), MassDestroyConfirmation::Missing);
    assert_eq!(steps(&plan), ["update cluster other", "update cluster same"]);
    assert!(plan.steps.iter().all(|step| step.change.cause == Cause::Adopted));
    assert_eq!(plan.steps[0].reason(), "adopts a resource without an owner, and changes labels.a");
    assert_eq!(plan.steps[1].reason(), "adopts a resource without an owner, unchanged");
}

#[test]
fn an_emptied_file_is_stopped_until_someone_confirms() {
    let before = desired(&clusters(0..11));
    let accepted = Accepted::from_desired(&before, &repository("ours"));
    let empty = desired("");
    let plan =
        |confirmation| plan::build(&empty, compare(&empty, &accepted, &repository("ours")), confirmation);
    let stopped = plan(MassDestroyConfirmation::Missing).stopped.unwrap();
    assert_eq!((stopped.destroys, stopped.owned), (11, 11));
    assert_eq!(plan(MassDestroyConfirmation::MassDestroy).stopped, None);
    let other = plan(MassDestroyConfirmation::OtherCommit("c0ffee".to_owned())).stopped.unwrap();
    let told = other.diagnostic().message;
    assert!(told.contains("it was confirmed for another commit, c0ffee"), "{told}");
}

#[test]
fn a_confirmation_lasts_for_what_was_confirmed_and_for_nothing_more() {
    let accepted = Accepted::from_desired(&desired(&clusters(0..20)), &repository("ours"));
    let keys = |range: std::ops::Range<usize>| {
        range.map(|number| ResourceKey::new(Kind::Cluster, format!("c-{number:03}"))).collect()
    };
    let left = desired(&clusters(0..2));
    let plan =
        |confirmation| plan::build(&left, compare(&left, &accepted, &repository("ours")), confirmation);
    assert_eq!(plan(MassDestroyConfirmation::Earlier(keys(0..20))).stopped, None);
    assert_eq!(plan(MassDestroyConfirmation::Earlier(keys(2..20))).stopped, None);
    assert_eq!(
        plan(MassDestroyConfirmation::Earlier(keys(3..20))).stopped.map(|stopped| stopped.destroys),
        Some(18)
    );
}

#[test]
fn a_stored_plan_has_its_sets_and_the_members_of_each() {
    let plan = plan_from(
        &clusters(0..3),
        &format!("{}nodes: []\nbundles: [{{name: b, path: x}}]\n", clusters(2..6)),
    );
    let stored = StoredPlan::of(&plan);
    assert_eq!(stored.steps.len(), plan.steps.len());
    let told: Vec<_> = stored.sets.iter().map(|set| (set.count, set.destroys, set.names.len())).collect();
    assert_eq!(told, [(6, 2, 5), (3, 0, 3), (2, 2, 2)]);
    for set in &stored.sets {
        let members = members_of(set.scope, &stored.steps, &stored.sets);
        assert_eq!((members.len(), set.scope.digest(members.iter().copied())), (set.count, set.digest));
    }
    assert_eq!(StoredPlan::of(&plan), stored);
}

#[test]
fn few_destroys_or_a_small_share_are_not_a_mass_destroy() {
    assert_eq!(plan_from(&clusters(0..10), "").stopped, None);
    assert_eq!(plan_from(&clusters(0..40), &clusters(0..20)).stopped, None);
    assert!(plan_from(&clusters(0..41), &clusters(0..20)).stopped.is_some());
}

#[test]
fn a_protected_resource_and_its_dependencies_are_not_destroyed() {
    let before = "templates: {t: {node_platform: debian-12-amd64}, u: {node_platform: debian-12-amd64}}\n\
                  nodes: {n: {template: t, protect: true}}";
    let plan = plan_from(before, "");
    assert_eq!(steps(&plan), ["destroy template u"]);
    let refused: Vec<String> =
        plan.refusals.iter().map(|refusal| format!("{}: {}", refusal.resource, refusal.reason)).collect();
    assert_eq!(
        refused,
        [
            "template t: node n still refers to it",
            "node n: it has `protect: true`; remove that in a separate change first"
        ]
    );
}

#[test]
fn a_resource_that_is_still_referenced_is_not_destroyed() {
    let before = "templates: {t: {node_platform: debian-12-amd64}}\nnodes: {n: {template: t}}";
    let plan = plan_from(before, "nodes: {n: {template: t}}");
    assert_eq!(plan.problems[0].code, Code::ReferenceDestroyed);
    assert!(plan.problems[0].message.contains("the node `n` refers to the template `t`"));
}

#[test]
fn a_module_that_changes_under_its_version_is_told() {
    let module = |workers| format!("modules: {{m: {{version: 1.0.0, config: {{workers: {workers}}}}}}}");
    let plan = plan_from(&module(1), &module(2));
    assert_eq!(steps(&plan), ["update module m"]);
    assert_eq!(plan.problems[0].code, Code::VersionReused);
    assert_eq!(plan_from(&module(1), &module(2).replace("1.0.0", "1.1.0")).problems, []);
}

#[test]
fn a_reference_is_removed_before_the_resource_it_names_is_destroyed() {
    let before = "templates: {a: {node_platform: debian-12-amd64}, b: {node_platform: debian-12-amd64}}\n\
                  nodes: {n: {template: a}}";
    let after = "templates: {b: {node_platform: debian-12-amd64}}\nnodes: {n: {template: b}}";
    assert_eq!(steps(&plan_from(before, after)), ["update node n", "destroy template a"]);
}

#[test]
fn the_cap_splits_a_hundred_changes_into_four_batches_and_skips_rejected_ones() {
    let plan = plan_from("", &clusters(0..100));
    let mut open: Vec<usize> = Vec::new();
    for expected_remaining in [75, 50, 25, 0] {
        let standing = |position: usize| {
            if open.contains(&position) { ProposalHistory::Open } else { ProposalHistory::New }
        };
        let positions: Vec<ResourceKey> = plan.steps.iter().map(|step| step.change.key.clone()).collect();
        let batch = plan::next_batch(&plan.steps, 25, |step| {
            standing(positions.iter().position(|key| *key == step.change.key).unwrap())
        });
        assert_eq!((batch.taken.len(), batch.remaining), (25, expected_remaining));
        assert_eq!(batch.taken[0], open.len());
        open.extend(batch.taken);
    }
    let rejected = |name: &str| name < "c-025";
    let batch = plan::next_batch(&plan.steps, 25, |step| match rejected(&step.change.key.name) {
        true => ProposalHistory::Rejected,
        false => ProposalHistory::New,
    });
    assert_eq!(batch.taken, (25..50).collect::<Vec<_>>());
    let last = plan::next_batch(&plan.steps, 1000, |step| match rejected(&step.change.key.name) {
        true => ProposalHistory::Rejected,
        false => ProposalHistory::Open,
    });
    assert_eq!((last.taken.len(), last.remaining), (25, 0));
}

#[test]
fn the_same_change_to_many_resources_is_one_group() {
    let nodes = |region: &str| {
        let node = |number| format!("  n-{number}: {{template: t, region: {region}}}\n");
        let all: String = (0..5).map(node).collect();
        format!("templates: {{t: {{node_platform: debian-12-amd64}}}}\nnodes:\n{all}")
    };
    let after = nodes("us").replace("n-2: {template: t, region: us}", "n-2: {template: t, region: ap}");
    let plan = plan_from(&nodes("eu"), &after);
    let groups = plan::groups(&plan);
    let told: Vec<(Kind, usize, String)> =
        groups.iter().map(|group| (group.kind, group.steps.len(), group.positions())).collect();
    assert_eq!(told, [(Kind::Node, 4, "1–2, 4–5".to_owned()), (Kind::Node, 1, "3".to_owned())]);
}

#[test]
fn digests_never_change() {
    // Approvals contain digests, so these must never change. A failure here is a breaking change of the format.
    let fleet = desired(
        "templates: {t: {node_platform: debian-12-amd64, modules: [nginx@1.26.0]}}\n\
         nodes: [{hostname: n, template: t, labels: {tier: edge}}]",
    );
    let node = fleet.resources.get(Kind::Node, "n").unwrap();
    assert_eq!(node.spec.canonical_bytes(), br#"{"labels":{"tier":"edge"},"template":"t"}"#);
    assert_eq!(node.digest.short(), "7a7cc97a65ad");
    let plan = plan::build(
        &fleet,
        compare(&fleet, &Accepted::default(), &repository("r")),
        MassDestroyConfirmation::Missing,
    );
    assert_eq!(
        (fleet.digest().short(), plan.digest().short()),
        ("dbccc2eeb049".to_owned(), "093f6bdd2e05".to_owned())
    );
}

#[test]
fn creates_follow_references_first_and_kinds_second() {
    let plan = plan_from(
        "",
        "clusters: [{name: c}]\nnodes: {n: {template: t}}\n\
         templates: {t: {node_platform: debian-12-amd64, modules: [m@1.0.0]}}\nmodules: {m: {version: 1.0.0}}\n\
         sdwan: {networks: {w: {peers: [{host: n}], virtual_ips: {v: {primary_holder: n}}}}}",
    );
    assert_eq!(
        steps(&plan),
        [
            "create module m",
            "create template t",
            "create node n",
            "create network w",
            "create peer w/n",
            "create virtual_ip w/v",
            "create cluster c",
        ]
    );
    assert!(plan.steps.iter().all(|step| step.change.action() == Action::Create));
}
