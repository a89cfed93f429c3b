//! Splits Rust source into words and marks. Comments, texts and numbers contain no paths, and test code is left out.

/// A word or a mark, with its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'s> {
    pub(crate) text: &'s str,
    pub(crate) line: usize,
}

impl Token<'_> {
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(is_in_word)
    }
}

/// The token for a text, a number or a lifetime.
const LITERAL: &str = "\"\"";

/// The source as tokens, without code marked with `#[cfg(test)]` or `#[test]`; `None` if that is the whole file.
pub(crate) fn tokens(source: &str) -> Option<Vec<Token<'_>>> {
    let (mut rest, mut line) = (source, 1);
    let mut all = Vec::new();
    while !rest.is_empty() {
        let (length, text) = piece(rest);
        all.extend(text.map(|text| Token { text, line }));
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    without_tests(&all)
}

/// The length of the next piece of source, and its visible part.
fn piece(source: &str) -> (usize, Option<&str>) {
    let is_at = |start: &str| source.starts_with(start);
    let blank = source.len() - source.trim_start().len();
    let unprefixed = source.strip_prefix(['b', 'c']).unwrap_or(source);
    let prefix = source.len() - unprefixed.len();
    if blank > 0 {
        (blank, None)
    } else if is_at("//") {
        (source.find('\n').unwrap_or(source.len()), None)
    } else if is_at("/*") {
        (comment(source), None)
    } else if let Some(length) = raw_text(unprefixed).or_else(|| quoted(unprefixed)) {
        (prefix + length, Some(LITERAL))
    } else if is_at("r#") && source[2..].starts_with(is_in_word) {
        let length = 2 + word(&source[2..]);
        (length, Some(&source[2..length]))
    } else if source.starts_with(|c: char| c.is_ascii_digit()) {
        (number(source), Some(LITERAL))
    } else if source.starts_with(is_in_word) {
        let length = word(source);
        (length, Some(&source[..length]))
    } else {
        let length = if is_at("::") { 2 } else { source.chars().next().map_or(1, char::len_utf8) };
        (length, Some(&source[..length]))
    }
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(source: &str) -> usize {
    source.find(|c| !is_in_word(c)).unwrap_or(source.len())
}

/// `1`, `1.5`, but of `1..2` only the first.
fn number(source: &str) -> usize {
    let whole = word(source);
    match source[whole..].strip_prefix('.') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => whole + 1 + word(rest),
        _ => whole,
    }
}

/// A block comment, with nested ones.
fn comment(source: &str) -> usize {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 && at < source.len() {
        let rest = &source[at..];
        let (step, change) = match rest {
            _ if rest.starts_with("/*") => (2, 1),
            _ if rest.starts_with("*/") => (2, -1),
            _ => (rest.chars().next().map_or(1, char::len_utf8), 0),
        };
        at += step;
        depth += change;
    }
    at
}

/// `r"…"`, `r#"…"#`.
fn raw_text(source: &str) -> Option<usize> {
    let rest = source.strip_prefix('r')?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let inside = rest[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(source.len() - inside.len() + inside.find(&end)? + end.len())
}

/// `"…"`, `'x'`, or a lifetime.
fn quoted(source: &str) -> Option<usize> {
    let mark = source.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut characters = source.char_indices().skip(1);
    let (second, after) = (characters.next()?.1, characters.next().map(|(_, c)| c));
    if mark == '\'' && second != '\\' && after != Some('\'') {
        return Some(1 + word(&source[1..]));
    }
    let mut is_escaped = false;
    let end = source.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == mark && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map(|(at, _)| at + 1)
}

fn without_tests<'s>(all: &[Token<'s>]) -> Option<Vec<Token<'s>>> {
    let text = |at: usize| all.get(at).map_or("", |token| token.text);
    let mut kept = Vec::new();
    let mut at = 0;
    while at < all.len() {
        let is_inner = text(at) == "#" && text(at + 1) == "!" && text(at + 2) == "[";
        if is_inner && is_for_tests(&all[at + 2..closing(all, at + 2)]) {
            return None;
        }
        let is_attribute = text(at) == "#" && text(at + 1) == "[";
        if !is_attribute || !is_for_tests(&all[at + 1..closing(all, at + 1)]) {
            kept.push(all[at]);
            at += 1;
            continue;
        }
        // To the end of the marked item: further attributes, then a block, a `;` or a `,`.
        while text(at) == "#" {
            at = closing(all, at + 1);
        }
        while at < all.len() && !matches!(text(at), ";" | "{" | "," | "}") {
            at = if matches!(text(at), "(" | "[") { closing(all, at) } else { at + 1 };
        }
        at = match text(at) {
            "{" => closing(all, at),
            "}" => at,
            _ => at + 1,
        };
    }
    Some(kept)
}

/// Whether an attribute restricts an item to tests.
fn is_for_tests(attribute: &[Token<'_>]) -> bool {
    let words: Vec<&str> = attribute.iter().filter(|token| token.is_word()).map(|token| token.text).collect();
    match words.as_slice() {
        ["test"] | ["tokio", "test", ..] => true,
        ["cfg", conditions @ ..] => {
            conditions.contains(&"test") && !conditions.contains(&"not") && !conditions.contains(&"any")
        }
        _ => false,
    }
}

/// The position after the bracket that closes the one at `open`.
pub(crate) fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        depth += match token.text {
            "{" | "(" | "[" => 1,
            "}" | ")" | "]" => -1,
            _ => 0,
        };
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

#[test]
fn words_and_marks_are_seen_and_texts_comments_and_tests_are_not() {
    let texts = |source| -> Option<Vec<&str>> {
        tokens(source).map(|all| all.into_iter().map(|token| token.text).collect())
    };
    let source = r####"a::b /* c /* d */ e */ r#type "f\"" b'\'' '\\' r#"g"h"# 'x: 1.5..2 // i"####;
    let l = LITERAL;
    assert_eq!(texts(source).unwrap(), ["a", "::", "b", "type", l, l, l, l, l, ":", l, ".", ".", l]);
    let source = "fn a() {} #[cfg(test)] #[path = \"x\"] mod b; #[test] fn c() { d() } #[cfg(not(test))] e";
    let left = ["fn", "a", "(", ")", "{", "}", "#", "[", "cfg", "(", "not", "(", "test", ")", ")", "]", "e"];
    assert_eq!(texts(source).unwrap(), left);
    assert_eq!(texts("//! For tests.\n#![cfg(test)]\nfn a() {}"), None);
    assert_eq!(tokens("\n/*\n*/ a").unwrap(), [Token { text: "a", line: 3 }]);
}
