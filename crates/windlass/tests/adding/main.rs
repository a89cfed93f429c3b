//! What adding something takes: the "How to add …" lists of ARCHITECTURE.md are followed by everything there is.
//!
//! The compiler asks for most places, because matches name every kind, operation, page and permission. Here is what it cannot
//! see: documents, examples and tables in other crates. A failure says what to add where.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod kinds;
mod lists;
mod operations;
#[path = "../support/mod.rs"]
mod support;
mod words;

use std::fs;

use support::project_root;

/// A file of the project.
fn read(path: &str) -> String {
    fs::read_to_string(project_root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The cells of a Markdown table's row.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// Whether a word stands in a text by itself, not as a part of another.
fn has_word(text: &str, word: &str) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_inside) && !text[at + word.len()..].starts_with(is_inside))
}
