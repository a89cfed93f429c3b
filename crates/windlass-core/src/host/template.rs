//! Texts with `{{ config.x }}` and `{{ node.x }}`, filled with the values of one node.
//!
//! There are no conditions and no loops: what a machine gets can be read off the text. `{{ "{{" }}` writes two braces.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::quote::quoted;

/// The longest text that filling may produce.
pub const MAX_FILLED_BYTES: usize = 4 * 1024 * 1024;

/// Why a text cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateProblem {
    /// `{{` without `}}`.
    Unclosed {
        /// The line, counted from 1.
        line: usize,
    },
    /// What stands between the braces is not a name.
    NotAName {
        /// The line, counted from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// No value has this name.
    Unknown {
        /// The line, counted from 1.
        line: usize,
        /// The name.
        name: String,
    },
    /// The filled text is longer than [`MAX_FILLED_BYTES`].
    TooLong,
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TemplateProblem::Unclosed { line } => write!(f, "line {line}: `{{{{` without `}}}}`"),
            TemplateProblem::NotAName { line, text } => {
                write!(f, "line {line}: {} is not `config.NAME` or `node.NAME`", quoted(text))
            }
            TemplateProblem::Unknown { line, name } => write!(f, "line {line}: there is no {}", quoted(name)),
            TemplateProblem::TooLong => write!(f, "the text is longer than {MAX_FILLED_BYTES} bytes"),
        }
    }
}

/// The values that texts can use: `config` of the module on the node, and `node`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateValues {
    /// The settings of the module on the node.
    pub config: Map<String, Value>,
    /// The node.
    pub node: Map<String, Value>,
}

impl TemplateValues {
    /// The value of a name such as `config.tls.port`. A label whose key has dots is found too: `node.labels.example.com/tier`.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let (root, path) = name.split_once('.')?;
        let map = match root {
            "config" => &self.config,
            "node" => &self.node,
            _ => return None,
        };
        look_up(map, path)
    }
}

fn look_up<'v>(map: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if let Some(value) = map.get(path) {
        return Some(value);
    }
    path.match_indices('.').find_map(|(dot, _)| match map.get(&path[..dot]) {
        Some(Value::Object(inside)) => look_up(inside, &path[dot + 1..]),
        _ => None,
    })
}

/// Fills a text.
pub fn fill(text: &str, values: &TemplateValues) -> Result<String, TemplateProblem> {
    let mut filled = String::with_capacity(text.len());
    for part in parts(text) {
        match part? {
            TemplatePart::Text(text) => filled.push_str(text),
            TemplatePart::Name { name, line } => match values.get(name) {
                Some(value) => push_value(&mut filled, value),
                None => return Err(TemplateProblem::Unknown { line, name: name.to_owned() }),
            },
        }
        if filled.len() > MAX_FILLED_BYTES {
            return Err(TemplateProblem::TooLong);
        }
    }
    Ok(filled)
}

/// The names that a text uses, each once, as far as it can be read.
pub(super) fn names(text: &str) -> BTreeSet<&str> {
    let name = |part| match part {
        Ok(TemplatePart::Name { name, .. }) => Some(name),
        _ => None,
    };
    parts(text).filter_map(name).collect()
}

/// A part of a text.
enum TemplatePart<'t> {
    /// As it is.
    Text(&'t str),
    /// To be replaced by the value of this name.
    Name { name: &'t str, line: usize },
}

/// The parts of a text, up to the first problem.
fn parts(text: &str) -> impl Iterator<Item = Result<TemplatePart<'_>, TemplateProblem>> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let now = rest?;
        let Some(open) = now.find("{{") else {
            rest = None;
            return Some(Ok(TemplatePart::Text(now)));
        };
        if open > 0 {
            rest = Some(&now[open..]);
            return Some(Ok(TemplatePart::Text(&now[..open])));
        }
        let line = 1 + text[..text.len() - now.len()].matches('\n').count();
        let part = braces(&now[2..], line);
        rest = part.as_ref().ok().map(|(_, after)| *after);
        Some(part.map(|(part, _)| part))
    })
}

/// What stands after `{{`, and the text behind it.
fn braces(inside: &str, line: usize) -> Result<(TemplatePart<'_>, &str), TemplateProblem> {
    if let Some(after) = literal_braces(inside) {
        return Ok((TemplatePart::Text("{{"), after));
    }
    let close = inside.find("}}").ok_or(TemplateProblem::Unclosed { line })?;
    let name = inside[..close].trim();
    if !is_name(name) {
        return Err(TemplateProblem::NotAName { line, text: name.chars().take(80).collect() });
    }
    Ok((TemplatePart::Name { name, line }, &inside[close + 2..]))
}

/// The text after `"{{" }}`, if it begins so.
fn literal_braces(inside: &str) -> Option<&str> {
    let inside = inside.trim_start_matches(' ');
    let rest = inside.strip_prefix("\"{{\"").or_else(|| inside.strip_prefix("'{{'"))?;
    rest.trim_start_matches(' ').strip_prefix("}}")
}

fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    (text.starts_with("config.") || text.starts_with("node.")) && text.chars().all(allowed)
}

/// Text and numbers as they are; lists and maps as JSON; null as nothing.
fn push_value(filled: &mut String, value: &Value) {
    match value {
        Value::Null => {}
        Value::String(text) => filled.push_str(text),
        other => filled.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values() -> TemplateValues {
        let map = |value: Value| value.as_object().unwrap().clone();
        TemplateValues {
            config: map(
                json!({"workers": 4, "pool": "a.example", "tls": {"port": 443}, "list": [1, 2], "none": null}),
            ),
            node: map(json!({"hostname": "n1", "labels": {"example.com/tier": "edge"}})),
        }
    }

    #[test]
    fn names_are_replaced_by_their_values() {
        for (text, filled) in [
            ("workers {{ config.workers }};", "workers 4;"),
            ("{{config.pool}}{{ config.none }}", "a.example"),
            ("{{ config.tls.port }} {{ config.list }}", "443 [1,2]"),
            ("{{ node.hostname }} {{ node.labels.example.com/tier }}", "n1 edge"),
            ("a {{ \"{{\" }} b }} {", "a {{ b }} {"),
            ("no braces", "no braces"),
        ] {
            assert_eq!(fill(text, &values()).as_deref(), Ok(filled));
        }
    }

    #[test]
    fn the_names_of_a_text_are_listed_once() {
        let found: Vec<&str> =
            names("{{ config.a }} {{node.b}} {{ \"{{\" }} {{ config.a }} {{").into_iter().collect();
        assert_eq!(found, ["config.a", "node.b"]);
    }

    #[test]
    fn a_problem_names_its_line() {
        let problem = |text: &str| fill(text, &values()).unwrap_err().to_string();
        assert_eq!(problem("a\nb {{ config.worker }}"), "line 2: there is no `config.worker`");
        assert_eq!(problem("\n\n{{ config.x"), "line 3: `{{` without `}}`");
        assert_eq!(problem("{{ env.HOME }}"), "line 1: `env.HOME` is not `config.NAME` or `node.NAME`");
        assert_eq!(problem("{{ config.pool.x }}"), "line 1: there is no `config.pool.x`");
    }

    #[test]
    fn values_are_not_filled_again_and_are_bounded() {
        let mut values = values();
        values.config.insert("pool".to_owned(), json!("{{ node.hostname }}"));
        assert_eq!(fill("{{ config.pool }}", &values).as_deref(), Ok("{{ node.hostname }}"));
        values.config.insert("pool".to_owned(), json!("x".repeat(100_000)));
        assert_eq!(fill(&"{{ config.pool }}".repeat(100), &values), Err(TemplateProblem::TooLong));
    }
}
