//! Sanitises text that leaves the server: removes characters that hide or reorder text, masks secrets, limits the
//! length.

use windlass_core::secret::without_secrets;

/// Names and kinds are shorter; a longer one does not come from Windlass.
pub(crate) const MAX_NAME_CHARS: usize = 200;

/// A message of this length fits one or two screens of a phone.
pub(crate) const MAX_MESSAGE_CHARS: usize = 1800;

/// The text on one line, with at most `most` characters.
pub(crate) fn single_line(text: &str, most: usize) -> String {
    cut(&remove_hidden_marks(&without_secrets(text), LineBreaks::Joined), most)
}

/// The text with its line breaks, with at most `most` characters.
pub(crate) fn multi_line(text: &str, most: usize) -> String {
    cut(&remove_hidden_marks(&without_secrets(text), LineBreaks::Kept), most)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineBreaks {
    Kept,
    Joined,
}

fn remove_hidden_marks(text: &str, breaks: LineBreaks) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' if breaks == LineBreaks::Kept => Some('\n'),
            '\n' | '\t' => Some(' '),
            c if c.is_control() => None,
            c if is_hidden_mark(c) => None,
            c => Some(c),
        })
        .collect()
}

/// Whether a character reorders text or is invisible.
fn is_hidden_mark(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The beginning of a text, with an ellipsis if it was cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(most.saturating_sub(1)).collect();
            format!("{kept}…")
        }
    }
}

/// Inserts an invisible character after `@`, so that chats do not treat the word as a mention.
pub(crate) fn defuse_mentions(text: &str) -> String {
    text.replace('@', "@\u{200b}")
}

/// Puts a backslash before each of these characters.
pub(crate) fn backslash_escape(text: &str, special: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if special.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Escapes text for HTML, also inside attribute values.
pub(crate) fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_gone_and_secrets_are_hidden() {
        assert_eq!(single_line("a\u{202e}b\r\nc\u{200b}\u{0}d", 99), "ab cd");
        assert_eq!(multi_line("a\r\nb", 99), "a\nb");
        assert_eq!(single_line("see https://me:pw@x.y", 99), "see https://(hidden)@x.y");
        assert_eq!(single_line("äöüß", 3), "äö…");
        assert_eq!(single_line("äöü", 3), "äöü");
    }
}
