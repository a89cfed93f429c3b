//! Items that agents report: masked, bounded, and accepted while they differ in the same way.

use proptest::prelude::*;

use super::*;
use crate::content::FileChange;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn item(name: &str, fields: Vec<FieldDifference>) -> DriftedItem {
    DriftedItem {
        key: ItemKey::reported("path", name).expect("a path"),
        module: "nginx".to_owned(),
        mode: DriftMode::Report,
        since: at(5),
        fields,
        problem: None,
    }
}

fn raw_value(field: &str, observed: &str) -> FieldDifference {
    FieldDifference::Value { field: field.to_owned(), observed: Some(observed.to_owned()), desired: None }
}

fn raw_lines(lines: &str) -> FieldDifference {
    FieldDifference::Content(FileDifference {
        path: "/etc/app.conf".to_owned(),
        change: FileChange::Changed,
        before_bytes: Some(10),
        after_bytes: Some(12),
        lines: Some(lines.to_owned()),
        not_shown: None,
    })
}

#[test]
fn secrets_that_an_agent_left_in_are_masked() {
    let planted = "hunter2hunter2";
    let fields = vec![
        raw_value("password", planted),
        raw_value("command", &format!("run --url https://ada:{planted}@db.example.com/x")),
        raw_value("environment", &format!("DB_PASSWORD={planted}")),
        raw_lines(&format!("@@ -1,2 +1,2 @@\n listen 80;\n-password: old{planted}\n+password: {planted}\n")),
        raw_lines(&format!(
            "@@ -1 +1,4 @@\n+-----BEGIN RSA PRIVATE KEY-----\n+{planted}{planted}\n+-----END RSA PRIVATE KEY-----\n"
        )),
    ];
    let safe = item("/etc/app.conf", fields).made_safe();
    assert_eq!(safe.fields.len(), 5);
    assert!(!safe.fields_json().contains(planted), "{}", safe.fields_json());
    assert!(safe.fields_json().contains("listen 80;"), "what is no secret stays");
}

#[test]
fn texts_that_steer_a_terminal_are_made_harmless() {
    let fields = vec![raw_value("mode", "0644\u{1b}[2J"), raw_lines("+one\u{202e}two\n")];
    let safe = item("/etc/app.conf", fields).made_safe().fields_json();
    assert!(!safe.contains('\u{1b}') && !safe.contains("\\u001b") && !safe.contains('\u{202e}'), "{safe}");
    for (kind, name) in [
        ("path", ""),
        ("Path", "/a"),
        ("", "/a"),
        ("path", "/a\u{1b}[2J"),
        ("path", "/\u{202e}a"),
        ("a b", "x"),
    ] {
        assert_eq!(ItemKey::reported(kind, name), None, "{kind:?} {name:?}");
    }
}

#[test]
fn what_is_too_long_is_left_out_and_says_so() {
    let long = item("/etc/app.conf", vec![raw_lines(&"+x\n".repeat(30_000))]).made_safe();
    let FieldDifference::Content(content) = &long.fields[0] else { panic!("content") };
    assert_eq!(
        (&content.lines, content.not_shown.as_deref()),
        (&None, Some("the difference is too long to show"))
    );
    let many =
        item("/etc/app.conf", (0..60).map(|_| raw_value("mode", &"x".repeat(4_000))).collect()).made_safe();
    assert!(many.fields.is_empty() && many.problem.is_some());
}

#[test]
fn a_target_has_a_limited_number_of_items_and_bytes() {
    let one = |index: usize| item(&format!("/etc/{index}"), vec![raw_lines(&"+x\n".repeat(10_000))]);
    let mut items: Vec<DriftedItem> = (0..100).map(one).collect();
    assert_eq!(bound_items(&mut items, MAX_ITEMS_OF_TARGET - 60, 0), 40);
    let bytes: usize = items.iter().map(DriftedItem::bytes).sum();
    assert!(bytes <= MAX_BYTES_OF_TARGET);
    assert!(items.iter().any(|item| item.problem.is_some()), "the last are stored without their differences");
    assert!(items.iter().all(|item| item.fields.is_empty() == item.problem.is_some()));
}

#[test]
fn an_acceptance_is_valid_until_it_expires_or_the_item_differs_otherwise() {
    let drifted = item("/etc/a", vec![raw_value("mode", "0644")]);
    let acceptance = |until| ItemAcceptance {
        item: drifted.key.clone(),
        digest: drifted.digest(),
        until,
        reason: "a trial".to_owned(),
        by: "ada@example.com".to_owned(),
        at: at(0),
    };
    let accepted: ItemAcceptances = [acceptance(Some(at(10)))].into_iter().collect();
    let later = DriftedItem { since: at(9), ..drifted.clone() };
    assert!(
        accepted.of(&drifted.key, later.digest(), at(9)).is_some(),
        "the time is no part of the difference"
    );
    assert!(accepted.of(&drifted.key, drifted.digest(), at(10)).is_none());
    let other = item("/etc/a", vec![raw_value("mode", "0600")]);
    assert!(accepted.of(&drifted.key, other.digest(), at(9)).is_none());
    let endless: ItemAcceptances = [acceptance(None)].into_iter().collect();
    assert!(endless.of(&drifted.key, drifted.digest(), at(1_000_000)).is_some());
    assert!(
        endless.of(&ItemKey::reported("path", "/etc/b").expect("a path"), drifted.digest(), at(1)).is_none()
    );
}

proptest! {
    /// Whatever an agent sends, what is stored is bounded, and making it safe again changes nothing.
    #[test]
    fn what_is_stored_is_bounded_and_stays_the_same(
        values in proptest::collection::vec(("[a-z_]{1,20}", ".{0,200}"), 0..20),
        lines in ".{0,500}",
    ) {
        let mut fields: Vec<FieldDifference> =
            values.iter().map(|(field, value)| raw_value(field, value)).collect();
        fields.push(raw_lines(&lines));
        let safe = item("/etc/a", fields).made_safe();
        prop_assert!(safe.bytes() <= MAX_BYTES_OF_ITEM);
        prop_assert_eq!(safe.clone().made_safe().fields.len(), safe.fields.len());
    }
}
