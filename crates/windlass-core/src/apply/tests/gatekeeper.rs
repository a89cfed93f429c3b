//! What the gate is asked about proposals, and what it needs to know for that.

use super::*;
use crate::diff::{Action, Cause};
use crate::gate::{
    self, AutoApply, Consent, ContentOrigin, FailedSync, GateSubject, GivenApprovals, GrantedBy, Halt,
    HostResource, Judgement, RepositoryIdentity, ReviewProblem,
};
use crate::id::tests::lasting;
use crate::proposal::made_up::{AUTHOR, EDITOR, create, destroy, edited, made_directly, update, wanted_by};
use crate::repository::LastStatus;
use crate::run::RunStatus;

const TWICE: &str = "[{name: twice, match: {repositories: ['edg*']}, action: require_approval, approvals: 2}, \
                     {name: free, action: auto_approve}]";

fn key(kind: Kind, name: &str) -> ResourceKey {
    ResourceKey::new(kind, name)
}

fn grows() -> Proposal {
    wanted_by("core", update(Kind::Cluster, "c", SMALL, LARGE))
}

fn direct(owner: Option<&str>) -> Proposal {
    made_directly(owner, update(Kind::Cluster, "c", SMALL, LARGE))
}

fn assigned(repository: &str) -> Proposal {
    wanted_by(repository, create(Kind::Assignment, "web:nginx", "{}"))
}

/// What the stage's gate says about a proposal.
fn judged(stage: &Stage, proposal: &Proposal, approvers: &[&str]) -> Judgement {
    let approvals: Vec<Approval> = approvers.iter().map(|who| approval(proposal, who)).collect();
    let gatekeeper = stage.gatekeeper([&proposal.change.key]);
    let repository = governing_repository(proposal, &stage.repositories);
    gatekeeper.judge(proposal, repository, &approvals, stage.now)
}

fn needs(judgement: &Judgement) -> Option<(usize, usize)> {
    match judgement.consent {
        Consent::Needed { have, need, .. } => Some((have, need)),
        _ => None,
    }
}

#[test]
fn what_changes_are_attached_to_must_be_known_once_each_if_there_are_rules() {
    let changed = [
        key(Kind::Peer, "w/web"),
        key(Kind::VirtualIp, "w/front"),
        key(Kind::Assignment, "web:nginx"),
        key(Kind::Assignment, "db:nginx"),
        key(Kind::Node, "alone"),
        key(Kind::Network, "alone"),
    ];
    let unruled = Stage::new().gatekeeper([]);
    assert_eq!(unruled.hosts_to_know(&changed), [], "nothing restrains changes of them");
    let ruled = Stage::new().with_rules("[{name: it, action: block}]").gatekeeper([]);
    let expected = [key(Kind::Node, "db"), key(Kind::Node, "web"), key(Kind::Network, "w")];
    assert_eq!(ruled.hosts_to_know(&changed), expected);
    assert_eq!(ruled.hosts_to_know([]), []);
}

#[test]
fn rules_about_what_another_repository_owns_hold_for_what_is_attached_to_it() {
    let stage = |owner| Stage::new().with_rules(TWICE).with(Kind::Node, "web", "{template: t}", owner);
    let edges = judged(&stage(Some("edge")), &assigned("core"), &[]);
    assert_eq!((edges.rule.as_deref(), needs(&edges)), (Some("twice"), Some((0, 2))));
    assert!(judged(&stage(Some("core")), &assigned("core"), &[]).may_apply(), "it is its own");
    assert!(judged(&stage(None), &assigned("core"), &[]).may_apply(), "it is nobody's");
    let unknown = Stage::new().with_rules(TWICE);
    assert!(judged(&unknown, &assigned("core"), &[]).may_apply(), "it is not there");
    // A direct change is governed by whoever owns the resource, and of no repository's by nobody.
    let direct = |owner| made_directly(owner, create(Kind::Assignment, "web:nginx", "{}"));
    assert_eq!(needs(&judged(&stage(Some("edge")), &direct(None), &[BOB])), Some((1, 2)));
    assert!(judged(&stage(Some("core")), &direct(None), &[BOB]).may_apply());
}

#[test]
fn a_network_and_a_node_each_restrain_the_peer_that_joins_them() {
    let peer = wanted_by("core", create(Kind::Peer, "w/web", "{}"));
    let stage =
        |network, node| {
            Stage::new()
                .with_rules(TWICE)
                .with(Kind::Network, "w", "{cidr: 10.1.0.0/16}", Some(network))
                .with(Kind::Node, "web", "{template: t}", Some(node))
        };
    for (network, node, is_free) in
        [("core", "core", true), ("edge", "core", false), ("core", "edge", false), ("edge", "edge", false)]
    {
        assert_eq!(judged(&stage(network, node), &peer, &[]).may_apply(), is_free, "{network} {node}");
    }
}

#[test]
fn a_known_host_is_held_to_rules_on_its_file_too() {
    let rules =
        "[{name: prod, match: {paths: ['prod/**']}, action: block}, {name: free, action: auto_approve}]";
    let stage = Stage::new().with_rules(rules);
    let host = |file: Option<&str>| KnownHost {
        key: key(Kind::Node, "web"),
        spec: spec(Kind::Node, "{template: t}"),
        declared_in: file.map(str::to_owned),
        owner_id: RepositoryId::new("edge"),
        owner_name: "edge".to_owned(),
    };
    for (file, is_free) in [(Some("prod/nodes.yaml"), false), (Some("lab/nodes.yaml"), true), (None, true)] {
        let gatekeeper = stage.gatekeeper([]).with_hosts([host(file)]);
        let judgement = gatekeeper.judge(&assigned("core"), stage.repositories.first(), &[], stage.now);
        assert_eq!(judgement.may_apply(), is_free, "{file:?}");
    }
}

#[test]
fn the_gate_checks_exactly_the_change_that_would_be_applied() {
    let rules = "[{name: wide, match: {labels: {size: large}}, action: require_approval, approvals: 2}, \
                 {name: ours, match: {repositories: ['cor*'], paths: ['fleet.yaml']}, action: auto_approve}]";
    let mut contested = grows();
    contested.change.cause = Cause::Contested;
    let moved = Proposal { previous_file: Some("prod/fleet.yaml".to_owned()), ..grows() };
    let proposals = [
        grows(),
        moved,
        edited(grows(), MEDIUM),
        edited(wanted_by("core", update(Kind::Cluster, "c", SMALL, MEDIUM)), LARGE),
        contested,
        direct(Some("core")),
        direct(None),
        edited(direct(Some("core")), MEDIUM),
        wanted_by("core", create(Kind::Cluster, "c", SMALL)),
        wanted_by("core", destroy(Kind::Cluster, "c", LARGE)),
        wanted_by("edge", create(Kind::Cluster, "c", SMALL)),
    ];
    for auto_apply in [AutoApply::On, AutoApply::Off] {
        for proposal in &proposals {
            let mut stage = Stage::new().with_rules(rules);
            for repository in &mut stage.repositories {
                repository.auto_apply = auto_apply == AutoApply::On;
            }
            let change = proposal.effective_change();
            let governing = proposal.governing_repository();
            let subject = GateSubject {
                change: change.action(),
                key: &change.key,
                repository: governing.map(|id| RepositoryIdentity { id, name: id.as_str() }),
                content: match (&proposal.edit, proposal.is_direct()) {
                    (Some(_), _) => ContentOrigin::Edited { declared: proposal.change.after.as_deref() },
                    (None, true) => ContentOrigin::Direct,
                    (None, false) => ContentOrigin::Commit,
                },
                paths: &proposal.declaring_files(),
                before: change.before.as_deref(),
                after: change.after.as_deref(),
                contributors: &proposal.contributors,
                is_contested: change.cause == Cause::Contested,
                hosts: &[],
                auto_apply: governing.map_or(AutoApply::Off, |_| auto_apply),
                digest: gate::approval_digest(&change.key, change.base, change.desired),
            };
            let (policy, approvers) = (stage.account.bound_policy(), [BOB, CY].into_iter().collect());
            for people in [&[][..], &[BOB], &[BOB, CY]] {
                let digest = subject.digest;
                let approvals: Vec<gate::ApprovalFacts<'_>> = people
                    .iter()
                    .map(|approver| gate::ApprovalFacts { approver, digest, lapsed: None })
                    .collect();
                let given = GivenApprovals { approvals: &approvals, approvers: &approvers };
                let expected = gate::judge(&policy, &subject, given, stage.now);
                assert_eq!(judged(&stage, proposal, people), expected, "{proposal:?}");
            }
        }
    }
}

#[test]
fn auto_apply_is_for_what_the_repository_commits_and_for_nothing_that_someone_typed() {
    let mut stage = Stage::new();
    stage.repository("core").auto_apply = true;
    let trusted = Consent::Granted { by: GrantedBy::AutoApply };
    let created = wanted_by("core", create(Kind::Cluster, "c", SMALL));
    for proposal in [grows(), created] {
        assert_eq!(judged(&stage, &proposal, &[]).consent, trusted);
    }
    let mut contested = grows();
    contested.change.cause = Cause::Contested;
    for proposal in [
        edited(grows(), MEDIUM),
        edited(grows(), LARGE),
        direct(Some("core")),
        contested,
        wanted_by("core", destroy(Kind::Cluster, "c", SMALL)),
        wanted_by("edge", create(Kind::Cluster, "c", SMALL)),
    ] {
        assert_eq!(needs(&judged(&stage, &proposal, &[])), Some((0, 1)), "{proposal:?}");
        assert!(judged(&stage, &proposal, &[BOB]).may_apply(), "{proposal:?}");
    }
}

#[test]
fn a_repository_that_was_removed_is_still_known_by_what_it_was() {
    let stage = Stage::new().with_rules("[{name: frozen, match: {repositories: ['cor*']}, action: block}]");
    let gatekeeper = stage.gatekeeper([]);
    let consent =
        |proposal: &Proposal| gatekeeper.judge(proposal, None, &[approval(proposal, BOB)], stage.now).consent;
    assert!(matches!(consent(&grows()), Consent::Refused { .. }));
    assert!(matches!(consent(&direct(None)), Consent::Granted { .. }), "a direct change is of none");
}

#[test]
fn what_nobody_proposed_yet_is_foreseen_as_it_would_be_judged_without_approvals() {
    let rules = "[{name: twice, match: {repositories: ['edg*']}, action: require_approval, approvals: 2}, \
                 {name: frozen, match: {changes: [destroy]}, action: block}, {name: free, action: auto_approve}]";
    let mut halted = Stage::new().with_rules(rules).with(Kind::Node, "web", "{template: t}", Some("edge"));
    halted.account.halt =
        Some(Halt { by: BOB.to_owned(), reason: String::new(), since: Timestamp::from_millis(0) });
    let mut contested = grows();
    contested.change.cause = Cause::Contested;
    let gone = wanted_by("core", destroy(Kind::Cluster, "c", SMALL));
    let going = Stage { account: Account { halt: None, ..halted.account.clone() }, ..halted.clone() };
    for stage in [going, halted] {
        for proposal in [&grows(), &contested, &gone, &assigned("core"), &assigned("edge")] {
            let repository = governing_repository(proposal, &stage.repositories).unwrap();
            let foreseeable = PossibleChange {
                change: &proposal.change,
                repository,
                paths: &proposal.declaring_files(),
                contributors: &proposal.contributors,
            };
            let forecast = stage.gatekeeper([&proposal.change.key]).forecast(&foreseeable, stage.now);
            assert_eq!(forecast, judged(&stage, proposal, &[]), "{proposal:?}");
        }
    }
}

#[test]
fn an_approval_counts_for_what_it_named_from_who_may_give_it_until_it_falls() {
    let stage = Stage::new().with_rules("[{name: strict, action: require_approval, not_author: true}]");
    let edited = edited(grows(), MEDIUM);
    let mut stage = stage;
    stage.approvers.extend([AUTHOR, EDITOR]);
    let gatekeeper = stage.gatekeeper([]);
    let counts = |given: &Approval| gatekeeper.counts(&edited, stage.repositories.first(), given);
    assert!(counts(&approval(&edited, BOB)));
    assert!(counts(&approval(&edited, " Bob@Example.com")));
    for person in [AUTHOR, EDITOR, "stranger@example.com"] {
        assert!(!counts(&approval(&edited, person)), "{person}");
    }
    assert!(!counts(&approval(&grows(), BOB)), "what git wants is another content");
    assert!(!counts(&Approval { lapsed: Some("they left".to_owned()), ..approval(&edited, BOB) }));
    let nobody = Gatekeeper::before_approvals(&stage.account);
    assert!(!nobody.counts(&edited, stage.repositories.first(), &approval(&edited, BOB)));
    assert!(!nobody.is_approver(BOB) && gatekeeper.is_approver(BOB));
}

#[test]
fn whoever_cannot_approve_is_told_why() {
    let twice = "[{name: two, match: {names: [c]}, action: require_approval, approvals: 2, not_author: true}, \
                 {name: frozen, match: {names: [d]}, action: block}, {name: free, action: auto_approve}]";
    let mut stage = Stage::new().with_rules(twice);
    stage.approvers.extend([AUTHOR, "dan@example.com"]);
    let gatekeeper = stage.gatekeeper([]);
    let why_not = |proposal: &Proposal, given: &[&str], person: &str| {
        let approvals: Vec<Approval> = given.iter().map(|who| approval(proposal, who)).collect();
        gatekeeper.why_cannot_approve(proposal, stage.repositories.first(), &approvals, person)
    };
    let named = |name: &str| wanted_by("core", create(Kind::Cluster, name, SMALL));
    for (name, given, person, why) in [
        ("c", &[][..], BOB, None),
        ("c", &[CY], BOB, None),
        ("c", &[BOB], BOB, Some("you have approved this already")),
        ("c", &[BOB, CY], "dan@example.com", Some("it has the 2 approvals it needs")),
        ("c", &[], AUTHOR, Some("you are the commit's author, who cannot approve this by the rule `two`")),
        ("c", &[], "stranger@example.com", Some("you may not approve in this account")),
        ("d", &[], BOB, Some("the rule `frozen` blocks it")),
        ("e", &[], BOB, Some("no approval is needed")),
    ] {
        assert_eq!(why_not(&named(name), given, person).as_deref(), why, "{name} {person}");
    }
}

#[test]
fn a_failed_sync_holds_what_git_wanted_and_nothing_that_is_changed_directly() {
    let mut failed = repository("core");
    assert_eq!(failed_sync_of(&grows(), &failed), None);
    failed.last_status = LastStatus::Ended(RunStatus::Failed);
    failed.last_error = Some("no such branch".to_owned());
    let expected = FailedSync { repository: "core".to_owned(), reason: "no such branch".to_owned() };
    assert_eq!(failed_sync_of(&grows(), &failed), Some(expected.clone()));
    assert_eq!(failed_sync_of(&edited(grows(), MEDIUM), &failed), Some(expected));
    assert_eq!(failed_sync_of(&direct(Some("core")), &failed), None);
}

#[test]
fn what_someone_typed_is_reviewed_by_its_digest() {
    let (plain, edited, direct) = (grows(), edited(grows(), MEDIUM), direct(None));
    assert_eq!(check_review(&plain, None), Ok(()));
    for typed in [&edited, &direct] {
        assert_eq!(check_review(typed, None), Err(ReviewProblem::ContentNotNamed));
    }
    let taken_back = Proposal { edit: None, ..edited.clone() };
    assert_eq!(check_review(&taken_back, None), Err(ReviewProblem::ContentNotNamed));
    for proposal in [&plain, &edited, &direct, &taken_back] {
        assert_eq!(check_review(proposal, Some(&proposal.content_digest().to_string())), Ok(()));
    }
    let before_the_edit = plain.content_digest().to_string();
    assert_eq!(check_review(&edited, Some(&before_the_edit)), Err(ReviewProblem::Moved));
}

#[test]
fn the_governing_repository_is_found_by_its_id_among_those_that_are_left() {
    let mut renamed = repository("core");
    renamed.name = "edge".to_owned();
    let repositories = [renamed, repository("other")];
    let id = |proposal: &Proposal| {
        governing_repository(proposal, &repositories).map(|repository| repository.id.clone())
    };
    assert_eq!(id(&grows()), Some(RepositoryId::new("core")));
    assert_eq!(id(&direct(Some("other"))), Some(RepositoryId::new("other")));
    assert_eq!(id(&direct(None)), None);
    assert_eq!(id(&wanted_by("edge", grows().change)), None, "a name is no id");
}

#[test]
fn an_account_whose_policy_cannot_be_read_asks() {
    let mut stage = Stage::new();
    stage.account.policy = "{rules: [{name: free, action: let_it_pass}]}".to_owned();
    for proposal in [grows(), edited(grows(), MEDIUM), direct(None)] {
        assert_eq!(proposal.change.action(), Action::Update);
        assert_eq!(needs(&judged(&stage, &proposal, &[])), Some((0, 1)));
    }
}

#[test]
fn a_host_tells_the_gate_whose_it_is_and_what_it_is() {
    let (host, web) = (key(Kind::Node, "web"), spec(Kind::Node, "{template: t, labels: {tier: prod}}"));
    let rules = "[{name: prod, match: {kinds: [node], labels: {tier: prod}}, action: block}, \
                 {name: free, action: auto_approve}]";
    let stage = Stage::new().with_rules(rules).with(
        Kind::Node,
        "web",
        "{template: t, labels: {tier: prod}}",
        Some("edge"),
    );
    let owner = RepositoryIdentity { id: lasting("edge"), name: "edge" };
    let (proposal, approvers) = (assigned("core"), [BOB, CY].into_iter().collect());
    let hosts = [HostResource { key: &host, owner, spec: &web, file: None }];
    let subject = GateSubject {
        change: Action::Create,
        key: &proposal.change.key,
        repository: Some(RepositoryIdentity { id: lasting("core"), name: "core" }),
        content: ContentOrigin::Commit,
        paths: &["fleet.yaml"],
        before: None,
        after: proposal.change.after.as_deref(),
        contributors: &proposal.contributors,
        is_contested: false,
        hosts: &hosts,
        auto_apply: AutoApply::Off,
        digest: proposal.content_digest(),
    };
    let given = GivenApprovals { approvals: &[], approvers: &approvers };
    let expected = gate::judge(&stage.account.bound_policy(), &subject, given, stage.now);
    assert!(matches!(expected.consent, Consent::Refused { .. }));
    assert_eq!(judged(&stage, &proposal, &[]), expected);
    assert!(
        judged(&stage, &assigned("edge"), &[]).may_apply(),
        "what is attached to one's own is no other's matter"
    );
}
