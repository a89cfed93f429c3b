//! Edited files → a unified diff that `git apply` takes.

use similar::TextDiff;

use super::Edited;

/// Lines shown around each change, as git shows them.
const CONTEXT: usize = 3;

/// All edits as one patch, with paths relative to the fleet's root.
pub fn patch(edited: &[Edited]) -> String {
    edited.iter().map(file_patch).collect()
}

fn file_patch(edited: &Edited) -> String {
    // Only line feeds end lines for git; a carriage return is part of its line.
    let lines = |text: &str| -> Vec<String> { text.split_inclusive('\n').map(str::to_owned).collect() };
    let (before, after) = (lines(&edited.before), lines(&edited.after));
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    let after: Vec<&str> = after.iter().map(String::as_str).collect();
    let mut config = TextDiff::configure();
    config.newline_terminated(true);
    let diff = config.diff_slices(&before, &after);
    let (from, to) = (path_text("a/", &edited.path), path_text("b/", &edited.path));
    diff.unified_diff().context_radius(CONTEXT).header(&from, &to).to_string()
}

/// A path as git writes it: quoted where it would be read as something else.
fn path_text(prefix: &str, path: &str) -> String {
    if path.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) {
        let escaped: String = path.bytes().map(escaped_byte).collect();
        return format!("\"{prefix}{escaped}\"");
    }
    // A tab says that the white space before it is part of the name.
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

    fn edited(path: &str, before: &str, after: &str) -> Edited {
        Edited { path: path.to_owned(), before: before.into(), after: after.to_owned() }
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
    fn what_did_not_change_has_no_patch() {
        assert_eq!(patch(&[edited("a", "x\n", "x\n")]), "");
    }
}
