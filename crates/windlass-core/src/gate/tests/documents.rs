//! The policy as a document: it reads back as itself, and what is wrong with one is told with its place.

use super::{Policy, policy};
use crate::code::Code;

const COMPLETE: &str = r#"
rules:
  - name: no-destroys-on-friday
    match:
      kinds: [node, network]
      changes: [create, update, destroy]
      repositories: ["fleet-*"]
      names: ["edge-*"]
      paths: ["environments/prod/**"]
      labels: {tier: edge}
    action: require_approval
    approvals: 2
    not_author: true
    reason: "production: twice"
    windows:
      - {days: [mon, tue, wed, thu], from: "09:00", to: 17:00, timezone: europe/berlin}
      - {}
  - name: everything-else
    action: notify_and_proceed
"#;

#[test]
fn a_policy_reads_back_as_itself_with_the_same_digest() {
    let read = policy(COMPLETE);
    let stored = read.to_json().to_string();
    let again = policy(&stored);
    assert_eq!(read, again);
    assert_eq!(read.digest(), again.digest());
    assert!(stored.contains("\"timezone\":\"Europe/Berlin\""), "{stored}");
    assert!(stored.contains("\"kinds\":[\"node\",\"network\"]"), "{stored}");
    assert!(!stored.contains("24:00"), "defaults are left out: {stored}");
}

#[test]
fn nothing_at_all_is_a_policy_without_rules() {
    assert_eq!(policy(""), Policy::default());
    assert_eq!(policy("rules: []"), policy("{}"));
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let text = "rules:\n\
                - {name: a, action: auto_aprove}\n\
                - {name: b, action: block, approvals: 2, not_author: true}\n\
                - {name: c, action: require_approval, approvals: 11}\n\
                - {name: d, action: block, match: {kinds: [nod], changes: []}}\n\
                - {name: e, action: block, match: {paths: ['[']}}\n\
                - {name: f, action: block, window: []}\n\
                - {action: block}\n";
    let (policy, problems) = Policy::read("policy.yaml", text);
    assert!(policy.is_none());
    let told: Vec<(Code, &str, usize)> =
        problems.iter().map(|problem| (problem.code, problem.path.as_str(), problem.line)).collect();
    assert_eq!(
        told,
        [
            (Code::BadValue, "rules[0].action", 2),
            (Code::ConflictingKeys, "rules[1].approvals", 3),
            (Code::ConflictingKeys, "rules[1].not_author", 3),
            (Code::BadValue, "rules[2].approvals", 4),
            (Code::BadValue, "rules[3].match.kinds[0]", 5),
            (Code::BadValue, "rules[4].match.paths[0]", 6),
            (Code::UnknownKey, "rules[5].window", 7),
            (Code::MissingKey, "rules[6]", 8),
        ]
    );
    assert!(problems.iter().all(|problem| problem.help.is_some() && problem.column > 1));
}

#[test]
fn an_empty_list_is_refused_where_it_would_fit_everything() {
    for (rule, path) in [
        ("{name: a, action: block, match: {changes: []}}", "rules[0].match.changes"),
        ("{name: a, action: block, match: {labels: {}}}", "rules[0].match.labels"),
        ("{name: a, action: block, windows: []}", "rules[0].windows"),
        ("{name: a, action: block, windows: [{days: []}]}", "rules[0].windows[0].days"),
    ] {
        let (policy, problems) = Policy::read("policy.yaml", &format!("rules: [{rule}]"));
        assert!(policy.is_none(), "{rule}");
        assert_eq!(problems.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(), [path]);
    }
}

#[test]
fn windows_and_names_that_make_no_sense_are_refused() {
    for window in [
        "from: \"9:00\"",
        "to: \"25:00\"",
        "from: \"24:00\"",
        "from: \"00:00\", to: \"00:00\"",
        "timezone: Mars",
    ] {
        let text = format!("rules: [{{name: a, action: block, windows: [{{{window}}}]}}]");
        let (policy, problems) = Policy::read("policy.yaml", &text);
        assert!(policy.is_none(), "{window}");
        assert_eq!(problems.len(), 1, "{problems:?}");
    }
    let (policy, problems) =
        Policy::read("policy.yaml", "rules: [{name: a, action: block}, {name: a, action: block}]");
    assert!(policy.is_none());
    assert_eq!(problems[0].path, "rules[1].name");
}

#[test]
fn a_policy_has_a_limit_and_no_text_makes_reading_panic() {
    let (policy, problems) = Policy::read("policy.yaml", &"#".repeat(super::super::MAX_POLICY_BYTES + 1));
    assert!(policy.is_none());
    assert_eq!(problems[0].code, Code::FileTooLarge);
    for text in ["rules: 1", "- a", "rules: [[]]", "rules: {a: b}", "\u{0}", "rules: [{match: []}]", "{"] {
        assert!(Policy::read("policy.yaml", text).0.is_none(), "{text:?}");
    }
}
