//! Writes edited files as a unified diff for `git apply`.

use super::EditedFile;
use crate::line_diff::{self, LineChange};
use crate::secret::mask_excerpt;

/// Lines shown around each change, as git shows them.
const CONTEXT: usize = 3;

/// All edits as one patch, with paths relative to the fleet's root.
pub fn patch(edited: &[EditedFile]) -> String {
    edited.iter().map(file_patch).collect()
}

/// Context lines with a secret are left out where that is possible; a changed line shows the secret as `*`.
fn file_patch(edited: &EditedFile) -> String {
    let radius = (1..=CONTEXT).rev().find(|radius| !hides_context(edited, *radius)).unwrap_or(0);
    written(edited, radius)
}

fn hides_context(edited: &EditedFile, radius: usize) -> bool {
    let (before, after) = (line_diff::split(&edited.before), line_diff::split(&edited.after));
    let hunks = line_diff::hunks(&before, &after, radius);
    hunks.iter().flat_map(line_diff::Hunk::lines).any(|change| match change {
        LineChange::Same { old, .. } => masked(&before, old) != before[old],
        LineChange::Removed(_) | LineChange::Added(_) => false,
    })
}

fn written(edited: &EditedFile, radius: usize) -> String {
    let (before, after) = (line_diff::split(&edited.before), line_diff::split(&edited.after));
    let (from, to) = (path_text("a/", &edited.path), path_text("b/", &edited.path));
    let mut text = String::new();
    for hunk in line_diff::hunks(&before, &after, radius) {
        if text.is_empty() {
            text = format!("--- {from}\n+++ {to}\n");
        }
        text.push_str(&format!("{}\n", hunk.header(0)));
        for change in hunk.lines() {
            let shown = match change {
                LineChange::Same { old, .. } | LineChange::Removed(old) => masked(&before, old),
                LineChange::Added(new) => masked(&after, new),
            };
            text.push_str(&format!("{}{shown}", change.sign()));
            if !shown.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

/// A line with its secrets masked.
fn masked(lines: &[&str], line: usize) -> String {
    let above: String = lines[..line].concat();
    let (shown, end) = lines[line].strip_suffix('\n').map_or((lines[line], ""), |shown| (shown, "\n"));
    let text = format!("{above}{shown}");
    mask_excerpt(&text, above.len()..text.len()) + end
}

/// A path as git writes it, quoted where necessary.
fn path_text(prefix: &str, path: &str) -> String {
    if path.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) {
        let escaped: String = path.bytes().map(escaped_byte).collect();
        return format!("\"{prefix}{escaped}\"");
    }
    // A tab marks preceding spaces as part of the name.
    let end = if path.contains(' ') { "\t" } else { "" };
    format!("{prefix}{path}{end}")
}

fn escaped_byte(byte: u8) -> String {
    match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        0x20..=0x7e => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(path: &str, before: &str, after: &str) -> EditedFile {
        EditedFile { path: path.to_owned(), before: before.into(), after: after.to_owned() }
    }

    #[test]
    fn a_patch_names_its_file_and_shows_three_lines_around_a_change() {
        let text =
            patch(&[edited("fleet.d/a.yaml", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n")]);
        let expected =
            "--- a/fleet.d/a.yaml\n+++ b/fleet.d/a.yaml\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_missing_line_end_at_the_end_is_told_and_a_path_cannot_smuggle_in_lines() {
        let text = patch(&[edited("a\n\"b", "x", "y")]);
        let no_line_end = "\\ No newline at end of file";
        let head = "--- \"a/a\\012\\\"b\"\n+++ \"b/a\\012\\\"b\"\n@@ -1 +1 @@\n";
        assert_eq!(text, format!("{head}-x\n{no_line_end}\n+y\n{no_line_end}\n"));
    }

    #[test]
    fn a_secret_that_stands_in_git_is_neither_context_nor_shown_in_a_changed_line() {
        let before =
            "nodes:\n  n:\n    db_password: planted\n    region: eu\n    size: 1\n    a: 1\n    b: 1\n";
        let text = patch(&[edited("f", before, &before.replace("size: 1", "size: 2"))]);
        assert!(!text.contains("planted") && text.contains("     region: eu\n-    size: 1\n"), "{text}");
        let before = "nodes:\n  - {hostname: n, db_password: planted, size: 1}\n";
        let text = patch(&[edited("f", before, &before.replace("size: 1", "size: 2"))]);
        assert!(!text.contains("planted") && text.contains("size: 2"), "{text}");
    }

    #[test]
    fn what_did_not_change_has_no_patch() {
        assert_eq!(patch(&[edited("a", "x\n", "x\n")]), "");
    }
}
