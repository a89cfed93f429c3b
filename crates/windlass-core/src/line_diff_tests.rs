use proptest::prelude::*;

use super::*;

/// The new text, made from the old one and the hunks as `patch` would make it.
fn patched<'t>(old: &[&'t str], new: &[&'t str], hunks: &[Hunk]) -> Vec<&'t str> {
    let mut result = Vec::new();
    let mut next = 0;
    for hunk in hunks {
        result.extend(&old[next..hunk.old.start]);
        for line in hunk.lines() {
            if !matches!(line, LineChange::Removed(_)) {
                result.push(line.text(old, new));
            }
        }
        next = hunk.old.end;
    }
    result.extend(&old[next..]);
    result
}

#[test]
fn changes_far_apart_are_hunks_of_their_own() {
    let old: Vec<String> = (0..40).map(|line| line.to_string()).collect();
    let mut new = old.clone();
    new[5] = "five".to_owned();
    new[30] = "thirty".to_owned();
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
    let headers: Vec<String> = hunks(&old, &new, 3).iter().map(|hunk| hunk.header(0)).collect();
    assert_eq!(headers, ["@@ -3,7 +3,7 @@", "@@ -28,7 +28,7 @@"]);
    assert_eq!(hunks(&old, &new, 20).len(), 1);
    assert_eq!(hunks(&old, &new, 0)[0].header(100), "@@ -106 +106 @@");
}

#[test]
fn equal_texts_have_no_hunks() {
    assert!(hunks(&["a", "b"], &["a", "b"], 3).is_empty());
    assert!(hunks(&[], &[], 3).is_empty());
}

proptest! {
    #[test]
    fn the_hunks_turn_the_old_text_into_the_new_one(
        old in prop::collection::vec("[a-d]", 0..40),
        new in prop::collection::vec("[a-d]", 0..40),
        context in 0_usize..5,
    ) {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
        let hunks = hunks(&old, &new, context);
        prop_assert_eq!(patched(&old, &new, &hunks), new.clone());
        for pair in hunks.windows(2) {
            prop_assert!(pair[0].old.end < pair[1].old.start, "hunks that meet are one hunk");
        }
        for line in hunks.iter().flat_map(Hunk::lines) {
            if let LineChange::Same { old: before, new: after } = line {
                prop_assert_eq!(old[before], new[after]);
            }
        }
    }
}
