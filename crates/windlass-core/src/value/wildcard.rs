//! Patterns with `*` and `?` over names and messages. They are matched without compiling, so that a file full of them
//! costs no more than its size; the globs of approval policies, which only administrators write, are compiled.

use super::checked_text;
use crate::quote::quoted;
use crate::shape::InvalidText;

/// Longer than any name; limits the cost of matching.
const MAX_WILDCARD: usize = 256;

checked_text! {
    /// A pattern: `*` stands for anything, also nothing, and `?` for one character.
    Wildcard: "a pattern with `*` and `?`", Some("^[^\\u0000-\\u001f\\u007f]{1,256}$"), check_wildcard
}

impl Wildcard {
    /// Whether the pattern matches the whole text. Case matters.
    pub fn matches(&self, text: &str) -> bool {
        let (pattern, text): (Vec<char>, Vec<char>) =
            (self.as_str().chars().collect(), text.chars().collect());
        let (mut p, mut t) = (0, 0);
        // The position of the last star, and how much of the text it matches: only the last star ever has to match
        // more.
        let mut star: Option<(usize, usize)> = None;
        while t < text.len() {
            match pattern.get(p) {
                Some('*') => {
                    star = Some((p, t));
                    p += 1;
                }
                Some(c) if *c == '?' || *c == text[t] => {
                    p += 1;
                    t += 1;
                }
                _ => match &mut star {
                    Some((at, taken)) => {
                        *taken += 1;
                        (p, t) = (*at + 1, *taken);
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|c| *c == '*')
    }
}

fn check_wildcard(text: &str) -> Result<(), InvalidText> {
    if text.is_empty() || text.chars().count() > MAX_WILDCARD || text.chars().any(char::is_control) {
        return Err(InvalidText::value(format!("{} is not a pattern", quoted(text)))
            .help("use 1 to 256 characters, like `gitops.*`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::TextValue as _;

    #[test]
    fn a_star_is_anything_and_a_question_mark_one_character() {
        let matches = |pattern: &str, text: &str| Wildcard::read(pattern).unwrap().matches(text);
        for (pattern, text) in [
            ("*", ""),
            ("gitops.*", "gitops.sync_failed"),
            ("*failed*", "sync of fleet failed: no"),
            ("edge-??", "edge-01"),
            ("a*b*c", "a-b-b-c"),
            ("*ü", "grün über ü"),
            ("[x]", "[x]"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("gitops.*", "resource.changed"), ("edge-?", "edge-"), ("a*b", "a-b-c"), ("?", ""), ("[x]", "x")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_hostile_pattern_costs_no_more_than_its_length_times_the_text() {
        let pattern = Wildcard::read(&"*a".repeat(128)).unwrap();
        assert!(!pattern.matches(&format!("{}b", "a".repeat(10_000))));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "a\n", &"x".repeat(257)] {
            assert!(Wildcard::read(text).is_err(), "{text:?}");
        }
    }
}
