//! Escapes text in pages and makes hidden characters visible.
//!
//! Every template uses this escaper (askama.toml). In addition to HTML escaping it makes control characters, and
//! characters that hide or reorder text, visible, as the command line does, so that a reviewer sees everything.

use std::fmt::{self, Write};

use askama::filters::Escaper;

/// Escapes for text and quoted attributes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VisibleEscaper;

impl Escaper for VisibleEscaper {
    fn write_escaped_str<W: Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        let mut written = 0;
        for (at, c) in text.char_indices().filter(|(_, c)| needs_care(*c)) {
            dest.write_str(&text[written..at])?;
            self.write_escaped_char(&mut dest, c)?;
            written = at + c.len_utf8();
        }
        dest.write_str(&text[written..])
    }

    fn write_escaped_char<W: Write>(&self, mut dest: W, c: char) -> fmt::Result {
        match c {
            '<' => dest.write_str("&lt;"),
            '>' => dest.write_str("&gt;"),
            '&' => dest.write_str("&amp;"),
            '"' => dest.write_str("&quot;"),
            '\'' => dest.write_str("&#39;"),
            // A backtick could end an unquoted attribute in old browsers. No template has one; this is a second
            // safeguard.
            '`' => dest.write_str("&#96;"),
            c if is_unseen(c) => write!(dest, "⟨U+{:04X}⟩", u32::from(c)),
            c => dest.write_char(c),
        }
    }
}

fn needs_care(c: char) -> bool {
    matches!(c, '<' | '>' | '&' | '"' | '\'' | '`') || is_unseen(c)
}

/// Whether a character is a control character, or hides or reorders text.
fn is_unseen(c: char) -> bool {
    let reorders =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let invisible = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    (c.is_control() && !matches!(c, '\n' | '\t')) || reorders || invisible
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        VisibleEscaper.write_escaped_str(&mut out, text).expect("a string takes everything");
        out
    }

    #[test]
    fn markup_is_text_and_what_hides_is_seen() {
        assert_eq!(escaped("<b a='1'>\"&`"), "&lt;b a=&#39;1&#39;&gt;&quot;&amp;&#96;");
        assert_eq!(escaped("a\u{202e}b\u{0}c\u{1b}[1m"), "a⟨U+202E⟩b⟨U+0000⟩c⟨U+001B⟩[1m");
        assert_eq!(escaped("plain ✓ tëxt\n\tnext"), "plain ✓ tëxt\n\tnext");
    }
}
