//! Rules mean repositories, not names, and what they trust of one is changed by approvers alone.

use std::collections::BTreeMap;

use super::policy;
use crate::gate::{
    NameProblem, Policy, RepositoryChange, RepositoryIdentity, RepositorySettings, why_approver_required,
};
use crate::id::RepositoryId;
use crate::id::tests::lasting;

fn settings<'a>(id: &'a str, name: &'a str) -> RepositorySettings<'a> {
    RepositorySettings {
        identity: RepositoryIdentity { id: lasting(id), name },
        url: "https://git.example.com/fleet",
        branch: "main",
        path_prefix: "",
        signers: Some("key"),
        credential: None,
        ca: None,
        host_keys: None,
        is_enabled: true,
        auto_apply: false,
    }
}

fn bound(text: &str) -> Policy {
    policy(text).bind_repositories(&BTreeMap::from([("fleet".to_owned(), RepositoryId::new("1"))]))
}

fn takes_approver(policy: &Policy, before: &RepositorySettings<'_>, after: &RepositorySettings<'_>) -> bool {
    why_approver_required(policy, RepositoryChange::Change { before, after }).is_some()
}

fn removing(policy: &Policy, settings: &RepositorySettings<'_>, owned: usize) -> Option<String> {
    why_approver_required(policy, RepositoryChange::Remove { settings, owned })
}

/// Every way in which the settings of a repository that is trusted can change.
fn changes<'a>(before: &RepositorySettings<'a>) -> Vec<RepositorySettings<'a>> {
    let renamed = RepositoryIdentity { name: "other", ..before.identity };
    vec![
        RepositorySettings { identity: renamed, ..*before },
        RepositorySettings { url: "https://elsewhere.example.com/fleet", ..*before },
        RepositorySettings { branch: "other", ..*before },
        RepositorySettings { path_prefix: "other", ..*before },
        RepositorySettings { signers: None, ..*before },
        RepositorySettings { credential: Some("git/other"), ..*before },
        RepositorySettings { ca: Some("pem"), ..*before },
        RepositorySettings { host_keys: Some("keys"), ..*before },
    ]
}

#[test]
fn only_approvers_change_the_settings_that_a_rule_trusts() {
    let trusted = settings("1", "fleet");
    for text in [
        "rules: [{name: it, match: {repositories: [fleet]}, action: auto_approve}]",
        "rules: [{name: it, match: {repositories: ['fl*'], kinds: [node]}, action: notify_and_proceed}]",
        "rules: [{name: it, match: {labels: {tier: lab}}, action: auto_approve}]",
        "rules: [{name: some, match: {kinds: [node]}, action: block}, {name: it, action: auto_approve}]",
    ] {
        let policy = bound(text);
        for changed in changes(&trusted) {
            assert!(takes_approver(&policy, &trusted, &changed), "{text}: {changed:?}");
            assert!(takes_approver(&policy, &changed, &trusted), "{text}: {changed:?}");
        }
        let disabled = RepositorySettings { is_enabled: false, ..trusted };
        assert!(takes_approver(&policy, &disabled, &trusted));
        assert!(!takes_approver(&policy, &trusted, &disabled));
        assert!(!takes_approver(&policy, &trusted, &trusted));
        assert!(removing(&policy, &trusted, 0).is_some());
    }
}

#[test]
fn a_repository_that_nothing_lets_through_is_changed_by_writers() {
    let plain = settings("1", "fleet");
    for text in [
        "{}",
        "rules: [{name: it, action: require_approval, approvals: 2}]",
        "rules: [{name: it, match: {repositories: [fleet]}, action: block}]",
        "rules: [{name: all, action: require_approval}, {name: never, action: auto_approve}]",
        "rules: [{name: other, match: {repositories: ['x-*']}, action: auto_approve}]",
    ] {
        let policy = bound(text);
        for changed in changes(&plain) {
            assert!(!takes_approver(&policy, &plain, &changed), "{text}: {changed:?}");
        }
        assert_eq!(why_approver_required(&policy, RepositoryChange::Register(&plain)), None, "{text}");
    }
}

#[test]
fn only_approvers_remove_a_repository_that_a_rule_names_or_that_owns_resources() {
    let plain = settings("1", "fleet");
    for text in [
        "rules: [{name: it, match: {repositories: [fleet]}, action: block}]",
        "rules: [{name: it, match: {repositories: [fleet], kinds: [node]}, action: require_approval}]",
        "rules: [{name: it, match: {repositories: ['fl*']}, action: require_approval, approvals: 2}]",
    ] {
        let why = removing(&bound(text), &plain, 0).unwrap_or_else(|| panic!("{text}"));
        assert!(why.contains("the rule `it` is about fleet"), "{why}");
    }
    for text in [
        "{}",
        "rules: [{name: it, action: require_approval, approvals: 2}]",
        "rules: [{name: it, match: {kinds: [node]}, action: block}]",
        "rules: [{name: other, match: {repositories: ['x-*']}, action: block}]",
    ] {
        let policy = bound(text);
        assert_eq!(removing(&policy, &plain, 0), None, "{text}");
        assert!(removing(&policy, &plain, 1).unwrap().contains("fleet owns 1 resource"), "{text}");
        assert!(removing(&policy, &plain, 2).unwrap().contains("fleet owns 2 resources"), "{text}");
    }
}

#[test]
fn auto_apply_is_turned_on_and_what_it_trusts_is_changed_by_approvers_alone() {
    let plain = settings("1", "fleet");
    let applying = RepositorySettings { auto_apply: true, ..plain };
    let policy = Policy::default();
    assert!(takes_approver(&policy, &plain, &applying));
    assert!(!takes_approver(&policy, &applying, &plain));
    assert!(why_approver_required(&policy, RepositoryChange::Register(&applying)).is_some());
    for changed in changes(&applying) {
        assert!(takes_approver(&policy, &applying, &changed), "{changed:?}");
    }
}

#[test]
fn renaming_a_repository_cannot_avoid_or_gain_a_rule() {
    let by_name = bound("rules: [{name: it, match: {repositories: [fleet]}, action: auto_approve}]");
    let namesake = settings("2", "fleet");
    assert_eq!(why_approver_required(&by_name, RepositoryChange::Register(&namesake)), None);
    assert!(by_name.permissive_rule(&namesake.identity).is_none());
    assert!(by_name.permissive_rule(&settings("1", "renamed").identity).is_some());
    let by_glob = bound(
        "rules: [{name: strict, match: {repositories: ['prod-*']}, action: require_approval, approvals: 2}]",
    );
    let (inside, outside) = (settings("3", "prod-eu"), settings("3", "eu"));
    assert!(takes_approver(&by_glob, &inside, &outside) && takes_approver(&by_glob, &outside, &inside));
    assert!(!takes_approver(&by_glob, &inside, &settings("3", "prod-us")));
}

#[test]
fn a_policy_shows_repositories_under_the_names_they_have_now() {
    let policy = bound("rules: [{name: it, match: {repositories: [fleet, 'eu-*']}, action: block}]");
    assert_eq!(policy.repository_names().into_iter().collect::<Vec<_>>(), ["fleet"]);
    let shown = policy.with_current_names(&BTreeMap::from([(RepositoryId::new("1"), "renamed".to_owned())]));
    assert!(shown.to_json().to_string().contains(r#"["renamed","eu-*"]"#), "{}", shown.to_json());
}

fn resolved(
    names: &str,
    before: &[(&str, &str)],
    now: &[(&'static str, &'static str)],
) -> Result<Vec<(String, RepositoryId)>, NameProblem> {
    let policy = policy(&format!(
        "rules: [{{name: trusts, match: {{repositories: [{names}]}}, action: auto_approve}}]"
    ));
    let before = before.iter().map(|(name, id)| ((*name).to_owned(), RepositoryId::new(*id))).collect();
    let now: Vec<RepositoryIdentity<'_>> =
        now.iter().map(|(id, name)| RepositoryIdentity { id: lasting(id), name }).collect();
    policy.resolve_repositories(&before, &now).map(|bound| bound.into_iter().collect())
}

fn one(name: &str, id: &str) -> Vec<(String, RepositoryId)> {
    vec![(name.to_owned(), RepositoryId::new(id))]
}

#[test]
fn a_saved_name_keeps_meaning_the_same_repository() {
    assert_eq!(resolved("fleet", &[], &[("1", "fleet")]), Ok(one("fleet", "1")));
    assert_eq!(resolved("fleet", &[("fleet", "1")], &[("1", "fleet")]), Ok(one("fleet", "1")));
    let renamed = resolved("fleet", &[("fleet", "1")], &[("1", "eu"), ("2", "us")]);
    assert_eq!(renamed, Ok(one("fleet", "1")), "the text that was saved first means the same");
    assert_eq!(resolved("eu", &[("fleet", "1")], &[("1", "eu")]), Ok(one("eu", "1")), "as it is shown");
    let gone = resolved("fleet", &[("fleet", "1")], &[("2", "us")]);
    assert_eq!(gone, Ok(one("fleet", "1")), "it means nothing, and nobody else");
    for (now, before_it) in [
        (&[("2", "fleet")][..], "a repository that was removed"),
        (&[("1", "eu"), ("2", "fleet")][..], "the repository now named `eu`"),
    ] {
        let problem = resolved("fleet", &[("fleet", "1")], now).unwrap_err();
        assert_eq!(problem.code(), "repository-name-reused");
        assert!(problem.message().contains("the rule `trusts`"), "{problem:?}");
        assert!(problem.message().contains(before_it), "{problem:?}");
        assert!(
            problem.help().contains("write `2`") || problem.help().contains("`2` for the new"),
            "{problem:?}"
        );
    }
    assert_eq!(resolved("\"2\"", &[("fleet", "1")], &[("2", "fleet")]), Ok(one("2", "2")));
}

#[test]
fn an_id_comes_before_a_name_that_looks_like_it() {
    assert_eq!(resolved("\"1\"", &[], &[("2", "1"), ("1", "fleet")]), Ok(one("1", "1")));
    let typo = resolved("flet", &[], &[("1", "fleet")]).unwrap_err();
    assert_eq!((typo.code(), typo.help().contains("did you mean `fleet`?")), ("unknown-repository", true));
}
