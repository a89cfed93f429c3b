//! Who decides, and whose approvals count.

use std::sync::LazyLock;

use super::{at, policy};
use crate::diff::Action;
use crate::digest::Digest;
use crate::gate::{
    self, ApprovalFacts, Approvers, AutoApply, BlockingRule, Consent, ContentOrigin, Contributor,
    ContributorRole, Contributors, ContributorsGap, GateSubject, GivenApprovals, GrantedBy, Halt, Hold,
    HostResource, Judgement, Notify, Policy, RepositoryIdentity, ReviewProblem, approval_digest,
    check_review, hosts_of, judge,
};
use crate::id::tests::lasting;
use crate::resource::{Kind, ResourceKey, Spec};
use crate::shape::Decoder;
use crate::time::Timestamp;

const NOON: &str = "2026-11-16T12:00:00Z";
const ANN: &str = "ann@example.com";
const BOB: &str = "bob@example.com";
const CY: &str = "cy@example.com";

fn node(name: &str) -> ResourceKey {
    ResourceKey::new(Kind::Node, name)
}

fn labelled(tier: &str) -> Spec {
    let text = format!("{{template: web, labels: {{tier: {tier}}}}}");
    let (tree, _) = crate::yaml::parse(&text);
    Spec::decode(Kind::Node, tree.unwrap().root(), &mut Decoder::default()).unwrap()
}

fn of_kind(kind: Kind, text: &str) -> Spec {
    let (tree, _) = crate::yaml::parse(text);
    Spec::decode(kind, tree.unwrap().root(), &mut Decoder::default()).unwrap()
}

#[test]
fn a_rule_matches_the_state_that_a_change_brings_a_version_into() {
    let policy = policy("rules: [{name: live, match: {to_states: [live]}, action: block}]");
    let is_blocked = |kind, name: &str, before: Option<&str>, after: &str| {
        let key = ResourceKey::new(kind, name);
        let (before, after) = (before.map(|text| of_kind(kind, text)), of_kind(kind, after));
        let change = if before.is_some() { Action::Update } else { Action::Create };
        let subject = GateSubject { before: before.as_ref(), after: Some(&after), ..subject(change, &key) };
        matches!(judge(&policy, &subject, given(&[]), at(NOON)).consent, Consent::Refused { .. })
    };
    let version = |before, after| is_blocked(Kind::ModuleVersion, "web@1.0.0", before, after);
    assert!(version(Some("{state: blessed}"), "{state: live}"));
    assert!(version(None, "{state: live}"));
    assert!(!version(Some("{state: live}"), "{state: live, protect: true}"), "it is live already");
    assert!(!version(Some("{state: live}"), "{state: retired}"));
    let module = |before, after| is_blocked(Kind::Module, "web", before, after);
    assert!(module(None, "{version: 1.0.0}"), "a module makes a live version");
    assert!(module(Some("{version: 1.0.0}"), "{version: 1.1.0}"));
    assert!(!module(Some("{version: 1.0.0}"), "{version: 1.0.0, description: x}"));
    assert!(!module(None, "{version: 1.0.0, version_state: staging}"));
    assert!(!module(None, "{}"), "without a version it makes none");
    assert_eq!(
        hosts_of(&ResourceKey::new(Kind::ModuleVersion, "web@1.0.0")),
        [ResourceKey::new(Kind::Module, "web")]
    );
}

fn digest() -> Digest {
    Digest::of(b"what was reviewed")
}

fn contributors(people: &[(ContributorRole, &str)]) -> Contributors {
    people.iter().filter_map(|(role, person)| Contributor::new(*role, person)).collect()
}

fn ann() -> &'static Contributors {
    static ANN_WROTE: LazyLock<Contributors> =
        LazyLock::new(|| contributors(&[(ContributorRole::Author, ANN)]));
    &ANN_WROTE
}

/// A change of a node of Ann's.
fn subject(change: Action, key: &ResourceKey) -> GateSubject<'_> {
    GateSubject {
        change,
        key,
        repository: Some(RepositoryIdentity { id: lasting("id-of-fleet-eu"), name: "fleet-eu" }),
        content: ContentOrigin::Commit,
        paths: &["environments/prod/nodes.yaml"],
        before: None,
        after: None,
        contributors: ann(),
        is_contested: false,
        hosts: &[],
        auto_apply: AutoApply::Off,
        digest: digest(),
    }
}

fn approval(approver: &str) -> ApprovalFacts<'_> {
    ApprovalFacts { approver, digest: digest(), lapsed: None }
}

/// Everyone may approve.
fn approvers() -> &'static Approvers {
    static APPROVERS: LazyLock<Approvers> = LazyLock::new(|| [ANN, BOB, CY].into_iter().collect());
    &APPROVERS
}

fn given<'a>(approvals: &'a [ApprovalFacts<'a>]) -> GivenApprovals<'a> {
    GivenApprovals { approvals, approvers: approvers() }
}

fn why_not(
    policy: &Policy,
    subject: &GateSubject<'_>,
    approvals: &[ApprovalFacts<'_>],
    person: &str,
) -> Option<String> {
    gate::why_cannot_approve(policy, subject, given(approvals), person)
}

fn at_noon(policy: &Policy, subject: &GateSubject<'_>, approvals: &[ApprovalFacts<'_>]) -> Judgement {
    judge(policy, subject, given(approvals), at(NOON))
}

fn needs(judgement: &Judgement) -> Option<(usize, usize)> {
    match judgement.consent {
        Consent::Needed { have, need, .. } => Some((have, need)),
        _ => None,
    }
}

fn people(judgement: &Judgement) -> Vec<&str> {
    match &judgement.consent {
        Consent::Granted { by: GrantedBy::People(people) } => people.iter().map(String::as_str).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_a_rule_one_approval_is_needed() {
    let key = node("edge-01");
    let subject = subject(Action::Create, &key);
    let judgement = at_noon(&Policy::default(), &subject, &[]);
    assert_eq!((judgement.rule.as_deref(), needs(&judgement)), (None, Some((0, 1))));
    assert!(!judgement.may_apply());
    let judgement = at_noon(&Policy::default(), &subject, &[approval(BOB)]);
    assert_eq!(people(&judgement), [BOB]);
    assert!(judgement.may_apply());
}

#[test]
fn the_first_rule_that_matches_decides_and_an_empty_match_is_everything() {
    let policy = policy(
        "rules: [{name: first, match: {names: ['core-*']}, action: block}, {name: second, match: {}, action: auto_approve},
                 {name: third, action: block}]",
    );
    let (core, edge) = (node("core-1"), node("edge-1"));
    let blocked = at_noon(&policy, &subject(Action::Update, &core), &[]);
    assert_eq!(blocked.rule.as_deref(), Some("first"));
    let granted = at_noon(&policy, &subject(Action::Update, &edge), &[]);
    assert_eq!(granted.rule.as_deref(), Some("second"));
    assert_eq!(granted.consent, Consent::Granted { by: GrantedBy::Policy { notify: Notify::No } });
}

#[test]
fn every_key_of_a_match_must_fit() {
    let key = node("edge-01");
    let is_met = |keys: &str| {
        let policy = policy(&format!("rules: [{{name: it, match: {{{keys}}}, action: block}}]"));
        at_noon(&policy, &subject(Action::Update, &key), &[]).rule.is_some()
    };
    for keys in [
        "kinds: [node]",
        "kinds: [node, cluster], changes: [update]",
        "repositories: ['other', 'fleet-*']",
        "names: ['*-01']",
        "paths: ['environments/prod/**']",
    ] {
        assert!(is_met(keys), "{keys}");
    }
    for keys in [
        "kinds: [network]",
        "changes: [create, destroy]",
        "kinds: [node], repositories: ['fleet']",
        "names: ['edge']",
        "paths: ['environments/*']",
        "kinds: [node], labels: {tier: edge}",
    ] {
        assert!(!is_met(keys), "{keys}");
    }
}

#[test]
fn a_change_cannot_leave_a_rule_by_taking_a_label_or_a_file_off() {
    let key = node("edge-01");
    let (edge, lab) = (labelled("edge"), labelled("lab"));
    let changed = |before, after| GateSubject { before, after, ..subject(Action::Update, &key) };
    let met = |action: &str, subject: &GateSubject<'_>| {
        let policy =
            policy(&format!("rules: [{{name: it, match: {{labels: {{tier: edge}}}}, action: {action}}}]"));
        at_noon(&policy, subject, &[]).rule.is_some()
    };
    let moved = changed(Some(&edge), Some(&lab));
    assert!(met("block", &moved) && met("require_approval", &moved));
    assert!(!met("auto_approve", &moved) && !met("notify_and_proceed", &moved));
    let kept = changed(Some(&edge), Some(&edge));
    assert!(met("block", &kept) && met("auto_approve", &kept));
    assert!(met("auto_approve", &changed(None, Some(&edge))));
    assert!(!met("auto_approve", &changed(None, None)) && !met("block", &changed(None, None)));

    let moved = GateSubject { paths: &["lab/a.yaml", "prod/a.yaml"], ..subject(Action::Update, &key) };
    let by_path = |action: &str| {
        let policy =
            policy(&format!("rules: [{{name: it, match: {{paths: ['prod/*']}}, action: {action}}}]"));
        at_noon(&policy, &moved, &[]).rule.is_some()
    };
    assert!(by_path("block") && !by_path("auto_approve"));
}

#[test]
fn an_approval_counts_only_for_the_digest_it_names() {
    let key = node("edge-01");
    let subject = subject(Action::Update, &key);
    let stale = ApprovalFacts { approver: BOB, digest: Digest::of(b"what was there before"), lapsed: None };
    let judgement = at_noon(&Policy::default(), &subject, &[stale]);
    assert_eq!(needs(&judgement), Some((0, 1)));
    let Consent::Needed { reasons, .. } = &judgement.consent else { unreachable!() };
    assert_eq!(
        reasons[1].to_string(),
        "the approval of bob@example.com was for another state of this change"
    );
    assert_eq!(why_not(&Policy::default(), &subject, &[stale], BOB), None);
    assert_eq!(people(&at_noon(&Policy::default(), &subject, &[stale, approval(BOB)])), [BOB]);
}

#[test]
fn what_an_approval_names_changes_with_the_resource_and_either_state() {
    let (one, other) = (Digest::of(b"1"), Digest::of(b"2"));
    let bindings = [
        approval_digest(&node("a"), Some(one), Some(other)),
        approval_digest(&node("b"), Some(one), Some(other)),
        approval_digest(&node("a"), Some(other), Some(one)),
        approval_digest(&node("a"), None, Some(other)),
        approval_digest(&node("a"), Some(one), None),
        approval_digest(&ResourceKey::new(Kind::Cluster, "a"), Some(one), Some(other)),
    ];
    let different: std::collections::BTreeSet<Digest> = bindings.into_iter().collect();
    assert_eq!(different.len(), bindings.len());
}

#[test]
fn a_person_counts_once_however_the_address_is_spelled() {
    let policy = policy("rules: [{name: two, action: require_approval, approvals: 2}]");
    let key = node("edge-01");
    let subject = subject(Action::Update, &key);
    let twice = [approval(BOB), approval(" Bob@Example.COM"), approval("")];
    assert_eq!(needs(&at_noon(&policy, &subject, &twice)), Some((1, 2)));
    assert_eq!(
        why_not(&policy, &subject, &twice, "BOB@example.com").unwrap(),
        "you have approved this already"
    );
    assert_eq!(why_not(&policy, &subject, &twice, ANN), None);
    let both = [approval(BOB), approval(ANN)];
    assert_eq!(people(&at_noon(&policy, &subject, &both)), [BOB, ANN]);
    assert_eq!(why_not(&policy, &subject, &both, CY).unwrap(), "it has the 2 approvals it needs");
}

#[test]
fn no_contributor_approves_if_the_rule_says_not_author() {
    let strict = policy("rules: [{name: strict, action: require_approval, not_author: true}]");
    let key = node("edge-01");
    for role in ContributorRole::ALL {
        let both =
            contributors(&[(ContributorRole::Author, "someone@example.com"), (*role, "Cy@example.com")]);
        let subject = GateSubject { contributors: &both, ..subject(Action::Update, &key) };
        let cy = "cy@EXAMPLE.com ";
        assert_eq!(needs(&at_noon(&strict, &subject, &[approval(cy)])), Some((0, 1)), "{role:?}");
        let why = why_not(&strict, &subject, &[], cy).unwrap();
        assert_eq!(why, format!("you are {}, who cannot approve this by the rule `strict`", role.phrase()));
        assert_eq!(people_of(&Policy::default(), &subject, cy), [cy]);
        assert_eq!(why_not(&strict, &subject, &[], BOB), None);
        assert_eq!(people(&at_noon(&strict, &subject, &[approval(cy), approval(BOB)])), [BOB]);
    }
}

#[test]
fn missing_contributors_require_one_more_approval_with_a_reason() {
    let strict = policy("rules: [{name: strict, action: require_approval, not_author: true}]");
    let key = node("edge-01");
    for gap in ContributorsGap::ALL {
        let mut cut = contributors(&[(ContributorRole::Author, "made-up@example.com")]);
        cut.note_gap(*gap);
        let subject = GateSubject { contributors: &cut, ..subject(Action::Update, &key) };
        let judgement = at_noon(&strict, &subject, &[approval(BOB)]);
        assert_eq!(needs(&judgement), Some((1, 2)));
        let Consent::Needed { reasons, .. } = &judgement.consent else { unreachable!() };
        assert!(reasons[0].to_string().contains("requires one approval"), "{reasons:?}");
        let why = reasons[1].to_string();
        assert!(why.contains("one approval more") && why.contains(gap.reason()), "{why}");
        assert_eq!(why_not(&strict, &subject, &[approval(BOB)], ANN), None);
        assert_eq!(people(&at_noon(&strict, &subject, &[approval(BOB), approval(ANN)])), [BOB, ANN]);
        let anyone = policy("rules: [{name: anyone, action: require_approval}]");
        assert_eq!(people_of(&anyone, &subject, BOB), [BOB], "the rule does not ask who wrote it");
        assert_eq!(people_of(&Policy::default(), &subject, BOB), [BOB]);
        let permissive = policy("rules: [{name: it, action: auto_approve}]");
        assert!(at_noon(&permissive, &subject, &[]).may_apply());
    }
}

#[test]
fn an_approval_counts_only_while_its_approver_may_approve() {
    let key = node("edge-01");
    let (subject, yes) = (subject(Action::Update, &key), [approval(BOB)]);
    let without_bob: Approvers = [ANN, CY].into_iter().collect();
    let given = GivenApprovals { approvals: &yes, approvers: &without_bob };
    let judgement = judge(&Policy::default(), &subject, given, at(NOON));
    assert_eq!(needs(&judgement), Some((0, 1)));
    let Consent::Needed { reasons, .. } = &judgement.consent else { unreachable!() };
    let why = "does not count, because they may not approve in this account now";
    assert_eq!(reasons[1].to_string(), format!("the approval of {BOB} {why}"));
    let told = gate::why_approval_does_not_count(&Policy::default(), &subject, &yes[0], &without_bob);
    assert_eq!(told.map(|told| told.to_string()).as_deref(), Some(why));
    assert_eq!(gate::why_approval_does_not_count(&Policy::default(), &subject, &yes[0], approvers()), None);
    let why_not = gate::why_cannot_approve(&Policy::default(), &subject, given, BOB);
    assert_eq!(why_not.as_deref(), Some("you may not approve in this account"));
}

#[test]
fn an_approval_that_fell_stays_so_until_it_is_given_again() {
    let key = node("edge-01");
    let subject = subject(Action::Update, &key);
    let lapsed = ApprovalFacts { lapsed: Some("they left"), ..approval(BOB) };
    let judgement = at_noon(&Policy::default(), &subject, &[lapsed]);
    let Consent::Needed { reasons, .. } = &judgement.consent else { panic!("{judgement:?}") };
    assert_eq!(reasons[1].to_string(), format!("the approval of {BOB} no longer counts: they left"));
    assert_eq!(why_not(&Policy::default(), &subject, &[lapsed], BOB), None);
    assert_eq!(people(&at_noon(&Policy::default(), &subject, &[lapsed, approval(BOB)])), [BOB]);
}

#[test]
fn typed_content_is_approved_only_with_its_digest() {
    let key = node("edge-01");
    let (plain, spec) = (subject(Action::Update, &key), labelled("lab"));
    let seen = digest().to_string();
    assert_eq!(check_review(&plain, None), Ok(()));
    let taken_back = contributors(&[(ContributorRole::Author, ANN), (ContributorRole::Editor, CY)]);
    let typed = [
        GateSubject { content: ContentOrigin::Edited { declared: Some(&spec) }, ..plain },
        GateSubject { content: ContentOrigin::Direct, ..plain },
        GateSubject { contributors: &taken_back, ..plain },
    ];
    for subject in &typed {
        assert_eq!(check_review(subject, None), Err(ReviewProblem::ContentNotNamed));
    }
    for subject in typed.iter().chain([&plain]) {
        assert_eq!(check_review(subject, Some(&seen)), Ok(()));
        assert_eq!(check_review(subject, Some("sha256:0")), Err(ReviewProblem::Moved));
    }
}

fn people_of(policy: &Policy, subject: &GateSubject<'_>, approver: &str) -> Vec<String> {
    people(&at_noon(policy, subject, &[approval(approver)])).into_iter().map(str::to_owned).collect()
}

#[test]
fn typed_content_is_approved_only_by_people() {
    let key = node("edge-01");
    let (edge, lab) = (labelled("edge"), labelled("lab"));
    for action in ["auto_approve", "notify_and_proceed"] {
        let permissive =
            policy(&format!("rules: [{{name: it, match: {{labels: {{tier: lab}}}}, action: {action}}}]"));
        let git = GateSubject { after: Some(&lab), ..subject(Action::Create, &key) };
        assert!(at_noon(&permissive, &git, &[]).may_apply());
        for content in [
            ContentOrigin::Edited { declared: Some(&edge) },
            ContentOrigin::Edited { declared: Some(&lab) },
            ContentOrigin::Direct,
        ] {
            for auto_apply in [AutoApply::On, AutoApply::Off] {
                let typed = GateSubject { content, auto_apply, ..git };
                let judgement = at_noon(&permissive, &typed, &[]);
                assert_eq!(needs(&judgement), Some((0, 1)), "{content:?}");
                let Consent::Needed { reasons, .. } = &judgement.consent else { unreachable!() };
                assert!(reasons[0].to_string().contains("only people approve"), "{reasons:?}");
                assert!(at_noon(&permissive, &typed, &[approval(BOB)]).may_apply());
            }
        }
    }
}

#[test]
fn a_change_to_a_resource_of_another_repository_is_approved_only_by_people() {
    let key = node("edge-01");
    for action in ["auto_approve", "notify_and_proceed"] {
        let permissive = policy(&format!(
            "rules: [{{name: it, match: {{changes: [update, destroy]}}, action: {action}}}]"
        ));
        let own = GateSubject { auto_apply: AutoApply::On, ..subject(Action::Update, &key) };
        assert!(at_noon(&permissive, &own, &[]).may_apply());
        let contested = GateSubject { is_contested: true, ..own };
        let judgement = at_noon(&permissive, &contested, &[]);
        assert_eq!(needs(&judgement), Some((0, 1)));
        let Consent::Needed { reasons, .. } = &judgement.consent else { unreachable!() };
        assert!(reasons[0].to_string().contains("another repository owns it"), "{reasons:?}");
        assert_eq!(why_not(&permissive, &contested, &[], BOB), None);
        assert!(at_noon(&permissive, &contested, &[approval(BOB)]).may_apply());
    }
    let frozen = policy("rules: [{name: frozen, action: block}]");
    let contested = GateSubject { is_contested: true, ..subject(Action::Update, &key) };
    assert!(matches!(at_noon(&frozen, &contested, &[approval(BOB)]).consent, Consent::Refused { .. }));
}

#[test]
fn an_edit_must_pass_the_rules_for_the_declared_content_too() {
    let key = node("edge-01");
    let (prod, lab) = (labelled("prod"), labelled("lab"));
    let edited = |declared, after| GateSubject {
        content: ContentOrigin::Edited { declared: Some(declared) },
        after: Some(after),
        ..subject(Action::Create, &key)
    };
    let two = policy(
        "rules: [{name: two, match: {labels: {tier: prod}}, action: require_approval, approvals: 2, not_author: true}]",
    );
    for subject in [edited(&prod, &lab), edited(&lab, &prod)] {
        let judgement = at_noon(&two, &subject, &[approval(BOB)]);
        assert_eq!((judgement.rule.as_deref(), needs(&judgement)), (Some("two"), Some((1, 2))));
        assert!(why_not(&two, &subject, &[], ANN).unwrap().contains("by the rule `two`"));
    }
    let frozen = policy(
        "rules: [{name: frozen, match: {labels: {tier: prod}}, action: block}, {name: all, action: auto_approve}]",
    );
    for subject in [edited(&prod, &lab), edited(&lab, &prod)] {
        assert!(matches!(at_noon(&frozen, &subject, &[approval(BOB)]).consent, Consent::Refused { .. }));
    }
    let office = policy(
        "rules: [{name: office, match: {labels: {tier: prod}}, action: require_approval, windows: [{days: [sun]}]}]",
    );
    for subject in [edited(&prod, &lab), edited(&lab, &prod)] {
        assert_eq!(at_noon(&office, &subject, &[approval(BOB)]).hold.len(), 1);
    }
}

#[test]
fn auto_apply_approves_creates_and_updates_but_no_destroys_and_nothing_blocked() {
    let key = node("edge-01");
    let by = |change, policy: &Policy| {
        at_noon(policy, &GateSubject { auto_apply: AutoApply::On, ..subject(change, &key) }, &[]).consent
    };
    let twice = policy("rules: [{name: two, action: require_approval, approvals: 2}]");
    for change in [Action::Create, Action::Update] {
        assert_eq!(by(change, &twice), Consent::Granted { by: GrantedBy::AutoApply });
    }
    assert!(matches!(by(Action::Destroy, &twice), Consent::Needed { need: 2, .. }));
    assert!(matches!(by(Action::Destroy, &Policy::default()), Consent::Needed { need: 1, .. }));
    let frozen = policy("rules: [{name: frozen, action: block, reason: year-end freeze}]");
    let reason = BlockingRule { rule: "frozen".to_owned(), reason: "year-end freeze".to_owned() };
    assert_eq!(by(Action::Create, &frozen), Consent::Refused { reason });
    let told = why_not(&frozen, &subject(Action::Create, &key), &[], BOB);
    assert_eq!(told.as_deref(), Some("the rule `frozen` blocks it: year-end freeze"));
    assert!(!at_noon(&frozen, &subject(Action::Create, &key), &[approval(BOB)]).may_apply());
}

#[test]
fn a_rule_approves_a_destroy_only_if_it_names_destroys() {
    let key = node("edge-01");
    for action in ["auto_approve", "notify_and_proceed"] {
        let silent = policy(&format!("rules: [{{name: it, action: {action}}}]"));
        assert_eq!(needs(&at_noon(&silent, &subject(Action::Destroy, &key), &[])), Some((0, 1)));
        let named =
            policy(&format!("rules: [{{name: it, match: {{changes: [destroy]}}, action: {action}}}]"));
        assert!(at_noon(&named, &subject(Action::Destroy, &key), &[]).may_apply());
    }
    let told = policy("rules: [{name: it, action: notify_and_proceed}]");
    let consent = at_noon(&told, &subject(Action::Create, &key), &[]).consent;
    assert_eq!(consent, Consent::Granted { by: GrantedBy::Policy { notify: Notify::Yes } });
    assert_eq!(why_not(&told, &subject(Action::Create, &key), &[], BOB).unwrap(), "no approval is needed");
}

#[test]
fn outside_its_windows_a_granted_change_is_held_until_the_next_one_opens() {
    let policy = policy(
        "rules: [{name: office, action: auto_approve, windows: [
           {days: [tue], from: '09:00', to: '17:00', timezone: Europe/Berlin}, {days: [mon], from: '18:00', to: '19:00'}]}]",
    );
    let key = node("edge-01");
    let judged = |now: &str| judge(&policy, &subject(Action::Create, &key), given(&[]), at(now));
    assert!(judged("2026-11-16T18:30:00Z").may_apply());
    assert!(judged("2026-11-17T08:00:00Z").may_apply());
    let held = judged(NOON);
    assert!(matches!(held.consent, Consent::Granted { .. }) && !held.may_apply());
    let expected =
        "outside the rule's windows; the next one opens Mon 2026-11-16 18:00 UTC (2026-11-16T18:00:00.000Z)";
    assert_eq!(held.hold[0].to_string(), expected);
}

#[test]
fn a_halted_account_applies_nothing_and_says_who_halted_it() {
    let halt =
        Halt { by: ANN.to_owned(), reason: "incident 12".to_owned(), since: Timestamp::from_millis(0) };
    let key = node("edge-01");
    let judged = at_noon(&Policy::default(), &subject(Action::Create, &key), &[approval(BOB)]);
    assert!(judged.clone().unless_halted(None).may_apply());
    let halted = judged.unless_halted(Some(&halt));
    assert!(!halted.may_apply());
    assert_eq!(halted.hold, [Hold::Halted(halt)]);
    let told = "applying is halted since 1970-01-01T00:00:00.000Z by ann@example.com: incident 12";
    assert_eq!(halted.hold[0].to_string(), told);
}

#[test]
fn rules_about_a_host_apply_to_resources_that_others_attach_to_it() {
    let policy = policy(
        "rules:
  - {name: prod-twice, match: {repositories: ['prod-*']}, action: require_approval, approvals: 2}
  - {name: labelled, match: {kinds: [node], labels: {tier: prod}}, action: block}
  - {name: free, action: auto_approve}
",
    );
    let (assignment, host_key) = (ResourceKey::new(Kind::Assignment, "web-1:nginx"), node("web-1"));
    assert_eq!(hosts_of(&assignment), std::slice::from_ref(&host_key));
    let owned_by = |owner: &'static str, spec| HostResource {
        key: &host_key,
        owner: RepositoryIdentity { id: lasting(owner), name: owner },
        spec,
        file: None,
    };
    let judged = |host: HostResource<'_>| {
        let hosts = [host];
        at_noon(&policy, &GateSubject { hosts: &hosts, ..subject(Action::Create, &assignment) }, &[])
    };
    let (lab, prod) = (labelled("lab"), labelled("prod"));
    assert!(at_noon(&policy, &subject(Action::Create, &assignment), &[]).may_apply(), "its own rule lets it");
    assert_eq!(
        needs(&judged(owned_by("prod-eu", &lab))),
        Some((0, 2)),
        "by the rule about the host's repository"
    );
    let refused = judged(owned_by("dev", &prod)).consent;
    assert!(matches!(refused, Consent::Refused { .. }), "by the rule about the host's labels: {refused:?}");
    assert!(judged(owned_by("dev", &lab)).may_apply(), "what lets the host through lets this through too");
}
