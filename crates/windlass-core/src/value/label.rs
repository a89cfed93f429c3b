//! Labels, with the grammar of Kubernetes.

use std::collections::BTreeMap;

use super::checked_text;
use crate::quote::quoted;
use crate::shape::InvalidText;

/// Labels of a node or cluster.
pub type Labels = BTreeMap<LabelKey, LabelValue>;

checked_text! {
    /// A label's key: a name of at most 63 characters, optionally after a DNS prefix and `/`.
    LabelKey: "a label key", Some("^([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"), check_key
}

checked_text! {
    /// A label's value: empty, or at most 63 characters.
    LabelValue: "a label value", Some("^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$"), check_value
}

fn is_label_name(text: &str) -> bool {
    let ends_well = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    (1..=63).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        && ends_well(text.chars().next())
        && ends_well(text.chars().last())
}

fn check_key(text: &str) -> Result<(), InvalidText> {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let prefix_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    let prefix_is_fine = prefix
        .is_none_or(|prefix| !prefix.is_empty() && prefix.len() <= 253 && prefix.bytes().all(prefix_allowed));
    if prefix_is_fine && is_label_name(name) {
        return Ok(());
    }
    Err(InvalidText::name(format!("{} is not a label key", quoted(text)))
        .help("use `name` or `prefix/name`; a name has at most 63 letters, digits, `.`, `_` and `-`"))
}

fn check_value(text: &str) -> Result<(), InvalidText> {
    if text.is_empty() || is_label_name(text) {
        return Ok(());
    }
    Err(InvalidText::value(format!("{} is not a label value", quoted(text))).help(
        "use at most 63 letters, digits, `.`, `_` and `-`, beginning and ending with a letter or digit",
    ))
}
