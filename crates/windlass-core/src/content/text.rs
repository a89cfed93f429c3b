//! The changed lines of a file, with secrets masked.

use super::side::FileSide;
use crate::line_diff::{self, LineChange};
use crate::secret;

/// Lines shown around each change.
const CONTEXT: usize = 3;

/// A line is masked if it continues a secret that begins at most this many lines above: longer than any key.
const LINES_ABOVE: usize = 200;

/// The cost of the shortest difference is the product of the changed lines, so longer differences are not shown.
const MAX_LINES: usize = 2_000;

/// The changed lines, in at most `room` bytes; the error says why they are not shown.
pub(super) fn lines(before: &FileSide, after: &FileSide, room: usize) -> Result<String, &'static str> {
    let (before, after) = (text_of(before)?, text_of(after)?);
    if before == after {
        return Err("only its permissions differ");
    }
    if holds_kubernetes_secret(before) || holds_kubernetes_secret(after) {
        return Err("it contains a Kubernetes Secret");
    }
    let (old, new) = (line_diff::split(before), line_diff::split(after));
    let same_first = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - same_first;
    let same_last =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    if (old.len() + new.len()).saturating_sub(2 * (same_first + same_last)) > MAX_LINES {
        return Err("too many lines differ to show them here");
    }
    let (shown_old, shown_new) = (MaskedText::of(before, &old), MaskedText::of(after, &new));
    let first = same_first.saturating_sub(CONTEXT);
    let last = same_last.saturating_sub(CONTEXT);
    let (compared_old, compared_new) = (&old[first..old.len() - last], &new[first..new.len() - last]);
    let mut text = String::new();
    for hunk in line_diff::hunks(compared_old, compared_new, CONTEXT) {
        text.push_str(&format!("{}\n", hunk.header(first)));
        for change in hunk.lines() {
            let line = match change {
                LineChange::Same { old, .. } | LineChange::Removed(old) => shown_old.line(first + old),
                LineChange::Added(new) => shown_new.line(first + new),
            };
            text.push_str(&format!("{}{line}\n", change.sign()));
            if !change.text(compared_old, compared_new).ends_with('\n') {
                text.push_str("\\ No newline at end of file\n");
            }
            if text.len() > room {
                return Err("the difference is too long to show");
            }
        }
    }
    Ok(text)
}

/// The most lines of a text that are shown, and their size.
const SHOWN_LINES: usize = 500;
const SHOWN_BYTES: usize = 32 * 1024;

/// A text with secrets masked, line by line. The end of a long text is cut off.
pub fn masked_text(text: &str) -> String {
    if holds_kubernetes_secret(text) {
        return "(hidden: it contains a Kubernetes Secret)".to_owned();
    }
    let lines = line_diff::split(text);
    let masked = MaskedText::of(text, &lines);
    let mut shown = String::new();
    for (index, line) in lines.iter().enumerate() {
        if index == SHOWN_LINES || shown.len() + line.len() > SHOWN_BYTES {
            shown.push_str(&format!("… ({} more lines)\n", lines.len() - index));
            break;
        }
        shown.push_str(&masked.line(index));
        if line.ends_with('\n') {
            shown.push('\n');
        }
    }
    shown
}

fn text_of(side: &FileSide) -> Result<&str, &'static str> {
    match side {
        FileSide::Nothing => Ok(""),
        FileSide::Bytes(bytes) if bytes.contains(&0) => Err("it is binary"),
        FileSide::Bytes(bytes) => std::str::from_utf8(bytes).map_err(|_| "it is binary"),
        FileSide::Large(_) => Err("it is larger than 128 KiB"),
        FileSide::NotAFile => Err("it is a symbolic link or a submodule, which Windlass does not follow"),
        FileSide::Missing => Err("its content is not available here"),
        FileSide::NotRead => Err("the difference is too long to show"),
    }
}

/// Whether a text declares a Kubernetes Secret, all of whose values are secret.
fn holds_kubernetes_secret(text: &str) -> bool {
    let around = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
    text.match_indices("kind").any(|(at, key)| {
        let rest = text[at + key.len()..].trim_start_matches(around);
        let value = rest.strip_prefix(':').unwrap_or_default().trim_start_matches(around);
        let end = value.find(|c: char| !c.is_alphanumeric()).unwrap_or(value.len());
        matches!(&value[..end], "Secret" | "SecretList")
    })
}

/// The lines of a text with secrets masked.
struct MaskedText<'t> {
    text: &'t str,
    /// The start of each line, and the end of the text.
    starts: Vec<usize>,
}

impl<'t> MaskedText<'t> {
    fn of(text: &'t str, lines: &[&'t str]) -> MaskedText<'t> {
        let mut starts = vec![0];
        let mut end = 0;
        for line in lines {
            end += line.len();
            starts.push(end);
        }
        MaskedText { text, starts }
    }

    fn line(&self, line: usize) -> String {
        let (start, end) = (self.starts[line], self.starts[line + 1]);
        let end = if self.text[start..end].ends_with('\n') { end - 1 } else { end };
        let above = self.starts[line.saturating_sub(LINES_ABOVE)];
        secret::mask_excerpt(&self.text[above..end], start - above..end - above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(before: &str, after: &str) -> Result<String, &'static str> {
        let side = |text: &str| FileSide::Bytes(text.as_bytes().to_vec());
        lines(&side(before), &side(after), 10_000)
    }

    #[test]
    fn the_lines_are_what_diff_prints() {
        let before: String = (1..=20).map(|line| format!("line {line}\n")).collect();
        let after = before.replace("line 10\n", "line ten\n");
        let expected =
            "@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n+line ten\n line 11\n line 12\n line 13\n";
        assert_eq!(of(&before, &after).as_deref(), Ok(expected));
        assert_eq!(of("a", "b\n").as_deref(), Ok("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"));
        assert_eq!(of("a\n", "").as_deref(), Ok("@@ -1 +0,0 @@\n-a\n"));
    }

    #[test]
    fn a_whole_text_is_shown_with_secrets_masked_and_its_end_cut() {
        assert_eq!(masked_text("a\n\nb"), "a\n\nb");
        assert_eq!(masked_text("password: abc\nport: 1\n"), "password: ***\nport: 1\n");
        let long = masked_text(&"x\n".repeat(600));
        assert!(long.ends_with("x\n… (100 more lines)\n"), "{long}");
        assert!(masked_text(&"x".repeat(40_000)).starts_with('…'));
        assert!(!masked_text("kind: Secret\ndata: {a: b}\n").contains("data"));
    }

    #[test]
    fn secrets_are_hidden_whatever_the_file() {
        for (before, after) in [
            ("db_password: planted-1\n", "db_password: planted-2\n"),
            ("API_TOKEN=planted-1\nx=1\n", "API_TOKEN=planted-1\nx=2\n"),
            ("url: https://u:planted@h/\n", "url: https://u:planted-2@h/\n"),
            ("{\"password\": \"planted\"}\n", "{\"password\": \"planted-2\"}\n"),
        ] {
            let text = of(before, after).unwrap();
            assert!(!text.contains("planted"), "{text}");
        }
        let secret = "apiVersion: v1\nkind: Secret\ndata:\n  a: cGxhbnRlZA==\n";
        assert_eq!(of(secret, &secret.replace("cG", "cH")), Err("it contains a Kubernetes Secret"));
        assert_eq!(
            of("a\n", "{\"kind\": \"Secret\", \"data\": {}}\n"),
            Err("it contains a Kubernetes Secret")
        );
        assert!(of("kind: SecretStore\na: 1\n", "kind: SecretStore\na: 2\n").is_ok());
    }

    #[test]
    fn what_cannot_be_shown_says_why() {
        let bytes = |bytes: &[u8]| FileSide::Bytes(bytes.to_vec());
        assert_eq!(lines(&bytes(b"a\0"), &bytes(b"b"), 100), Err("it is binary"));
        assert_eq!(lines(&bytes(b"\xff"), &bytes(b"b"), 100), Err("it is binary"));
        assert_eq!(lines(&FileSide::Large(1 << 30), &bytes(b"b"), 100), Err("it is larger than 128 KiB"));
        assert_eq!(of("a\n", "a\n"), Err("only its permissions differ"));
        let (before, after) = ("a\n".repeat(5_000), "b\n".repeat(5_000));
        assert_eq!(of(&before, &after), Err("too many lines differ to show them here"));
        assert!(of(&before, &format!("{before}b\n")).is_ok(), "only what differs counts");
    }
}
