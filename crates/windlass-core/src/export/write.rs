//! Writes nodes as YAML, in the layout of `windlass fmt`.

use super::node::OutputNode;
use crate::yaml::{block_lines, inline};

/// A list of plain values is written on one line if the line has at most this many characters.
const MAX_COLUMNS: usize = 100;

/// The value of a longer key cannot follow on the same line: YAML's limit is 1024 characters.
const MAX_KEY: usize = 1000;

/// Spaces per level.
pub(super) const STEP: usize = 2;

/// Appends the entries of a map, each on a new line with this indentation.
pub(super) fn entries(entries: &[(String, OutputNode)], indent: usize, out: &mut String) {
    for (key, value) in entries {
        start_line(indent, out);
        entry(key, value, indent, out);
    }
}

/// Appends an item of a list on a new line with this indentation.
pub(super) fn item(value: &OutputNode, indent: usize, out: &mut String) {
    start_line(indent, out);
    item_on_current_line(value, indent, out);
}

/// Appends an item of a list on the current line; its content begins after the dash.
fn item_on_current_line(value: &OutputNode, indent: usize, out: &mut String) {
    out.push('-');
    let inner = indent + STEP;
    match (value, flow(value)) {
        (OutputNode::Map(map), None) => {
            for (position, (key, value)) in map.iter().enumerate() {
                begin_inner(position, inner, out);
                entry(key, value, inner, out);
            }
        }
        (OutputNode::List(items), line) if line.as_ref().is_none_or(|line| !fits(line, out)) => {
            for (position, item) in items.iter().enumerate() {
                begin_inner(position, inner, out);
                item_on_current_line(item, inner, out);
            }
        }
        _ => value_after_indicator(value, inner, out),
    }
}

fn begin_inner(position: usize, indent: usize, out: &mut String) {
    match position {
        0 => out.push(' '),
        _ => start_line(indent, out),
    }
}

/// Appends a key and its value.
pub(super) fn entry(key: &str, value: &OutputNode, indent: usize, out: &mut String) {
    let key = inline(key);
    match key.chars().count() > MAX_KEY {
        true => {
            out.push_str("? ");
            out.push_str(&key);
            start_line(indent, out);
            out.push(':');
        }
        false => {
            out.push_str(&key);
            out.push(':');
        }
    }
    value_after_indicator(value, indent + STEP, out);
}

/// Appends a value after a colon or a dash: on the same line, or on further lines with this indentation.
fn value_after_indicator(value: &OutputNode, indent: usize, out: &mut String) {
    if let OutputNode::Text(text) = value
        && let Some((header, lines)) = block_lines(text)
    {
        out.push(' ');
        out.push_str(header);
        for line in lines {
            match line.is_empty() {
                true => out.push('\n'),
                false => start_line(indent, out),
            }
            out.push_str(line);
        }
        return;
    }
    match (value, flow(value)) {
        (OutputNode::List(items), line) if line.as_ref().is_none_or(|line| !fits(line, out)) => {
            items.iter().for_each(|inner| item(inner, indent, out));
        }
        (OutputNode::Map(map), None) => entries(map, indent, out),
        (_, line) => {
            out.push(' ');
            out.push_str(&line.unwrap_or_default());
        }
    }
}

/// The value on one line, if that is readable: a scalar, a list of scalars, or empty.
fn flow(value: &OutputNode) -> Option<String> {
    match value {
        OutputNode::Word(word) => Some(word.clone()),
        OutputNode::Text(text) => Some(inline(text)),
        OutputNode::Map(entries) => entries.is_empty().then(|| "{}".to_owned()),
        OutputNode::List(items) => {
            let words: Option<Vec<String>> = items
                .iter()
                .map(|item| match item {
                    OutputNode::Text(text) if block_lines(text).is_some() => None,
                    OutputNode::Word(_) | OutputNode::Text(_) => flow(item),
                    OutputNode::List(_) | OutputNode::Map(_) => None,
                })
                .collect();
            Some(format!("[{}]", words?.join(", ")))
        }
    }
}

/// Whether this text fits on the current line.
fn fits(more: &str, out: &str) -> bool {
    let line_start = out.rfind('\n').map_or(0, |found| found + 1);
    out[line_start..].chars().count() + 1 + more.chars().count() <= MAX_COLUMNS
}

fn start_line(indent: usize, out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.extend(std::iter::repeat_n(' ', indent));
}
