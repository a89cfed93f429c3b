//! Text for people, for every output: plans as Markdown, values as text, and sanitised text.
//!
//! A local plan and one from a server's response are the same [`PlanView`], so that they look the same. This module
//! makes no decisions and writes nothing.

mod content;
mod error_chain;
mod markdown;
mod plan_view;
mod value;

pub use content::{DiffLineKind, content_lines};
pub use error_chain::error_chain;
pub use markdown::{MAX_MARKDOWN, markdown, wait_text};
pub use plan_view::PlanView;
pub use value::{field_text, payload_lines, set_fields};

/// Sanitises text of a repository or a server for a terminal: control characters and characters that reorder text
/// become visible. The number of bytes stays the same, so that positions remain valid.
pub fn sanitize_for_terminal(text: &str) -> String {
    if !text.chars().any(is_unsafe) {
        return text.to_owned();
    }
    text.chars().map(|c| if is_unsafe(c) { "?".repeat(c.len_utf8()) } else { c.to_string() }).collect()
}

/// Whether a character could control a terminal, or hide or reorder text.
pub fn is_unsafe(c: char) -> bool {
    let reorders = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let invisible = matches!(c, '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    (c.is_control() && !matches!(c, '\n' | '\t')) || reorders || invisible
}

/// `1 change`, `2 changes`.
pub fn pluralize(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A number with its thousands grouped: `12,345`.
pub fn grouped_number(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped_number(number), text);
        }
        assert_eq!(grouped_number(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn escape_sequences_and_reordering_marks_do_not_reach_the_terminal() {
        let hostile = "a\u{1b}[31mred\u{9b}0m\u{202e}txt\u{7}";
        let cleaned = sanitize_for_terminal(hostile);
        assert_eq!(cleaned.len(), hostile.len());
        assert!(!cleaned.chars().any(is_unsafe));
        assert_eq!(sanitize_for_terminal("plain ✓ tëxt\n"), "plain ✓ tëxt\n");
    }
}
