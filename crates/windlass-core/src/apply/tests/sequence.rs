//! Proposals that are judged one after the other: each sees what those before it did.

use super::*;
use crate::proposal::made_up::{create, destroy, edited, made_directly, update, wanted_by};

fn node(template: &str) -> String {
    format!("{{template: {template}}}")
}

fn template() -> Proposal {
    wanted_by("core", create(Kind::Template, "t", PLATFORM))
}

fn web() -> Proposal {
    wanted_by("core", create(Kind::Node, "web", &node("t")))
}

/// A template, and a node that is made from it.
fn standing() -> Stage {
    Stage::new().with(Kind::Template, "t", PLATFORM, Some("core")).with(
        Kind::Node,
        "web",
        &node("t"),
        Some("core"),
    )
}

#[test]
fn what_one_change_brings_the_next_may_refer_to() {
    let applied = ["create template t for core", "create node web for core"];
    assert_eq!(Stage::new().become_of(&[template(), web()]), applied);
    assert_eq!(
        Stage::new().become_of(&[web(), template()]),
        ["waits: template t does not exist yet", "create template t for core"]
    );
    let theirs = wanted_by("edge", create(Kind::Node, "web", &node("t")));
    assert_eq!(
        Stage::new().become_of(&[template(), theirs]),
        ["create template t for core", "create node web for edge"]
    );
}

#[test]
fn what_waits_brings_nothing_that_the_next_could_refer_to() {
    let held = wanted_by("core", create(Kind::Template, "t", "{node_platform: plan-9-mips}"));
    assert_eq!(
        Stage::new().become_of(&[held, web()]),
        ["waits: the platform plan-9-mips is not in the catalogue", "waits: template t does not exist yet"]
    );
}

#[test]
fn what_one_change_ends_no_longer_keeps_the_next_from_ending() {
    let web = wanted_by("core", destroy(Kind::Node, "web", &node("t")));
    let template = wanted_by("core", destroy(Kind::Template, "t", PLATFORM));
    assert_eq!(
        standing().become_of(&[web.clone(), template.clone()]),
        ["destroy node web for core", "destroy template t for core"]
    );
    assert_eq!(
        standing().become_of(&[template, web]),
        ["waits: node web still refers to it", "destroy node web for core"]
    );
}

#[test]
fn what_lets_go_of_a_resource_no_longer_keeps_it() {
    let moves = wanted_by("core", update(Kind::Node, "web", &node("t"), &node("u")));
    let other = wanted_by("core", create(Kind::Template, "u", PLATFORM));
    let gone = wanted_by("core", destroy(Kind::Template, "t", PLATFORM));
    assert_eq!(
        standing().become_of(&[other.clone(), moves.clone(), gone.clone()]),
        ["create template u for core", "update node web for core", "destroy template t for core"]
    );
    // Someone edited the move so that the node stays where it is.
    let stays = edited(moves, "{template: t, region: eu}");
    assert_eq!(
        standing().become_of(&[other, stays, gone]),
        ["create template u for core", "update node web for core", "waits: node web still refers to it"]
    );
}

#[test]
fn what_begins_to_refer_to_a_resource_keeps_it() {
    let stage = Stage::new().with(Kind::Template, "t", PLATFORM, Some("core"));
    let theirs = wanted_by("edge", create(Kind::Node, "web", &node("t")));
    let gone = wanted_by("core", destroy(Kind::Template, "t", PLATFORM));
    assert_eq!(
        stage.become_of(&[theirs.clone(), gone.clone()]),
        ["create node web for edge", "waits: node web still refers to it"]
    );
    assert_eq!(
        stage.become_of(&[gone, theirs]),
        ["destroy template t for core", "waits: template t does not exist yet"]
    );
}

#[test]
fn of_two_that_want_the_same_the_first_to_be_applied_has_it() {
    let of = |repository: &str, id: &str| Proposal {
        id: ProposalId::new(id),
        ..wanted_by(repository, create(Kind::Cluster, "c", SMALL))
    };
    let verdicts = Stage::new().become_of(&[of("edge", "1"), of("core", "2")]);
    let moved = "superseded: the accepted state changed since this was approved";
    assert_eq!(verdicts, ["create cluster c for edge", moved]);

    let network = |repository: &str, name: &str, cidr: &str| {
        wanted_by(repository, create(Kind::Network, name, &format!("{{cidr: {cidr}}}")))
    };
    let verdicts =
        Stage::new().become_of(&[network("edge", "a", "10.1.0.0/16"), network("core", "b", "10.1.2.0/24")]);
    let overlap = "waits: 10.1.2.0/24 overlaps 10.1.0.0/16 of network a, owned by the repository `edge`";
    assert_eq!(verdicts, ["create network a for edge", overlap]);
}

#[test]
fn what_one_repository_gives_up_the_next_may_have() {
    let held = "{cidr: 10.1.0.0/16}";
    let stage = Stage::new().with(Kind::Network, "held", held, Some("edge"));
    let gone = wanted_by("edge", destroy(Kind::Network, "held", held));
    let wanted = wanted_by("core", create(Kind::Network, "wanted", "{cidr: 10.1.2.0/24}"));
    assert_eq!(
        stage.become_of(&[gone, wanted]),
        ["destroy network held for edge", "create network wanted for core"]
    );
}

#[test]
fn what_was_applied_a_moment_ago_is_what_the_next_is_compared_with() {
    let stage = Stage::new().with(Kind::Cluster, "c", SMALL, Some("core"));
    let grows = wanted_by("core", update(Kind::Cluster, "c", SMALL, LARGE));
    let direct = |before, after| Proposal {
        id: ProposalId::new("direct"),
        ..made_directly(Some("core"), update(Kind::Cluster, "c", before, after))
    };
    let applied = "update cluster c for core";
    assert_eq!(
        stage.become_of(&[grows.clone(), direct(SMALL, MEDIUM)]),
        [applied, "superseded: the accepted state changed since this was approved"]
    );
    assert_eq!(
        stage.become_of(&[grows.clone(), direct(SMALL, LARGE)]),
        [applied, "applied_manually: someone made this change manually"]
    );
    assert_eq!(stage.become_of(&[grows, direct(LARGE, SMALL)]), [applied, applied]);
}

#[test]
fn what_ends_or_waits_or_is_asked_for_again_leaves_everything_as_it_was() {
    let stage = Stage::new().with(Kind::Cluster, "c", SMALL, Some("core"));
    let ends = wanted_by("core", update(Kind::Cluster, "c", MEDIUM, LARGE));
    let waits = wanted_by("edge", update(Kind::Cluster, "c", SMALL, LARGE));
    let asks = wanted_by("core", update(Kind::Cluster, "c", SMALL, LARGE));
    for proposal in [ends, waits, asks.clone()] {
        let mut scene = stage.scene(std::slice::from_ref(&proposal), |proposal| {
            let is_asked_again = proposal.content_digest() == asks.content_digest()
                && proposal.repository_id == asks.repository_id;
            if is_asked_again { Vec::new() } else { vec![approval(proposal, BOB)] }
        });
        let verdict = scene.judge(&proposal);
        assert!(!matches!(verdict, Verdict::Apply { .. }), "{verdict:?}");
        let standing = scene.world.accepted(&proposal.change.key).unwrap();
        let small = spec(Kind::Cluster, SMALL).digest();
        let core = Some(RepositoryId::new("core"));
        assert_eq!((standing.digest, &standing.owner_id), (small, &core));
        assert_eq!(told(&scene.judge(&proposal)), told(&verdict), "nor does asking change the answer");
    }
}

#[test]
fn rules_about_a_host_apply_to_resources_attached_in_the_same_commit() {
    let rules = "[{name: twice, match: {repositories: ['edg*']}, action: require_approval, approvals: 2}, \
                 {name: free, match: {repositories: ['cor*']}, action: auto_approve}]";
    let stage = Stage::new().with_rules(rules).with(Kind::Template, "t", PLATFORM, Some("edge"));
    let host = wanted_by("edge", create(Kind::Node, "web", &node("t")));
    let attached = wanted_by("core", create(Kind::Assignment, "web:nginx", "{}"));
    let approvals = |proposal: &Proposal| match proposal.change.key.kind {
        Kind::Node => vec![approval(proposal, BOB), approval(proposal, CY)],
        _ => Vec::new(),
    };
    let proposals = [host, attached];
    let mut scene = stage.scene(&proposals, approvals);
    assert_eq!(told(&scene.judge(&proposals[0])), "create node web for edge");
    let then = told(&scene.judge(&proposals[1]));
    assert!(then.starts_with("asks again: ") && then.contains("`twice`"), "{then}");
}

#[test]
fn rules_about_labels_of_a_host_apply_from_the_change_that_adds_them() {
    let rules = "[{name: prod, match: {labels: {tier: prod}}, action: require_approval, approvals: 2}, \
                 {name: free, action: auto_approve}]";
    let plain = node("t");
    let labelled = "{template: t, labels: {tier: prod}}";
    let stage = Stage::new().with_rules(rules).with(Kind::Template, "t", PLATFORM, Some("edge")).with(
        Kind::Node,
        "web",
        &plain,
        Some("edge"),
    );
    let attached = || wanted_by("core", create(Kind::Assignment, "web:nginx", "{}"));
    let of_edge = wanted_by("edge", update(Kind::Node, "web", &plain, labelled));
    let proposals = [of_edge, attached()];
    let approvals = |proposal: &Proposal| match proposal.change.key.kind {
        Kind::Node => vec![approval(proposal, BOB), approval(proposal, CY)],
        _ => Vec::new(),
    };
    let mut scene = stage.scene(&proposals, approvals);
    assert_eq!(told(&scene.judge(&proposals[0])), "update node web for edge");
    let then = told(&scene.judge(&proposals[1]));
    assert!(then.starts_with("asks again: "), "{then}");
    let mut before = stage.scene(&[attached()], |_| Vec::new());
    assert_eq!(told(&before.judge(&attached())), "create assignment web:nginx for core", "without the label");
}
