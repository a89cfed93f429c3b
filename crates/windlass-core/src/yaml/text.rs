//! Writes texts as YAML: plain where every reader interprets them as text, otherwise quoted.
//!
//! The only place that decides whether a text needs quotes, for new files and for edits; an edit keeps the kind of
//! quotes of the old value. "Every reader" includes those of YAML 1.1, for which `no`, `2026-11-15` and `12:30` are not
//! text, because other programs read the files too.

use std::fmt::Write as _;

use super::Scalar;

/// A text on one line.
pub(crate) fn inline(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { double_quoted(text) }
}

/// The lines of a text that is best written as a block, and the header before them.
pub(crate) fn block_lines(text: &str) -> Option<(&'static str, std::str::Split<'_, char>)> {
    let (header, body) = match text.strip_suffix('\n') {
        Some(body) => ("|", body),
        None => ("|-", text),
    };
    let is_fine = |line: &str| {
        !line.ends_with([' ', '\t'])
            && !line.starts_with('\t')
            && !line.chars().any(|c| c != '\t' && is_hidden(c))
    };
    let begins_well = !body.starts_with([' ', '\n']);
    let ends_well = !body.ends_with('\n');
    let has_lines = text.contains('\n') && !body.is_empty();
    (has_lines && begins_well && ends_well && body.split('\n').all(is_fine))
        .then(|| (header, body.split('\n')))
}

/// Whether a text can be written without quotes, in block and in flow style.
fn is_plain(text: &str) -> bool {
    let begins_well = text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '_'));
    let ends_well = !text.ends_with([' ', ':']);
    let is_allowed = |c: char| c.is_alphanumeric() || " _-./@:+=%~^()$;".contains(c);
    begins_well
        && ends_well
        && text.chars().all(is_allowed)
        && !text.contains(": ")
        && matches!(Scalar::of_plain(text), Scalar::Text(_))
        && !is_ambiguous(text)
}

/// Whether some YAML reader interprets the text as a boolean, a number, a time or a date.
fn is_ambiguous(text: &str) -> bool {
    const WORDS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];
    if WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return true;
    }
    let is_version =
        text.split('.').count() > 2 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let begins_as_number = text.starts_with(|c: char| c.is_ascii_digit());
    let is_numeric = |c: char| c.is_ascii_hexdigit() || "_.:+-xXoOtTzZ ".contains(c);
    begins_as_number && !is_version && text.chars().all(is_numeric)
}

/// A text in double quotes, with characters that hide or reorder text escaped.
pub(super) fn double_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            hidden if is_hidden(hidden) => {
                let code = u32::from(hidden);
                let _ = match code {
                    0..=0xff => write!(quoted, "\\x{code:02x}"),
                    0x100..=0xffff => write!(quoted, "\\u{code:04x}"),
                    _ => write!(quoted, "\\U{code:08x}"),
                };
            }
            shown => quoted.push(shown),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a character is invisible, or changes how other text is displayed: it must be visible in a review.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_where_needed_and_only_there() {
        for plain in [
            "edge-cdn",
            "nginx@1.26.0",
            "1.26.0",
            "10.0.0.1",
            "10.20.0.0/16",
            "fd12:3456::/64",
            "über",
            "a b",
            "/etc/motd",
            "edge-01:nginx",
            "https://example.com/a",
            "ubuntu-24.04-amd64",
            "5m",
            "10%",
            "yesterday",
        ] {
            assert_eq!(inline(plain), plain);
        }
        for quoted in [
            "",
            "yes",
            "No",
            "ON",
            "y",
            "null",
            "~",
            "true",
            "1",
            "1.0",
            "0644",
            "0x1f",
            "1e3",
            "1_000",
            "12:30",
            "2026-11-15",
            "2026-11-15T10:00:00Z",
            " a",
            "a ",
            "a: b",
            "a:",
            "fd12::",
            "- a",
            "-",
            "#",
            "a #b",
            "[a]",
            "{a}",
            "a, b",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a`",
            "'a'",
            "<<",
            "=",
            "?",
            "|",
            ">",
            ".inf",
            "+1",
        ] {
            assert_eq!(inline(quoted), format!("\"{quoted}\""));
        }
        assert_eq!(inline("a\tb\\\"\u{1b}\u{202e}\u{e0001}"), r#""a\tb\\\"\x1b\u202e\U000e0001""#);
    }

    #[test]
    fn only_texts_whose_lines_survive_become_blocks() {
        for text in ["a\n", "a\nb", "a\n\n  b\nc\n", "a: {{ b }}\n# c\n", "a\tb\n"] {
            assert!(block_lines(text).is_some(), "{text:?}");
        }
        for text in
            ["a", "", "\n", "\na", " a\nb", "a\n\n", "a \nb", "a\n  \nb", "\ta\nb", "a\r\nb", "a\u{1b}\nb"]
        {
            assert!(block_lines(text).is_none(), "{text:?}");
        }
    }
}
