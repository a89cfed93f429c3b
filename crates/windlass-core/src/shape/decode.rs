//! Decodes nodes into types, and collects every problem with its path.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::invalid_text::InvalidText;
use super::sibling_keys::{SiblingKeys, UnknownKeys};
use crate::diagnostic::{Code, Finding, MAX_FINDINGS};
use crate::quote::quoted;
use crate::secret;
use crate::yaml::{Entries, NodeRef, Scalar, YamlContent};

/// Longer than any name, and than almost every path.
const MAX_KEY_IN_PATH: usize = 256;

/// A step into a value.
#[derive(Clone, Copy, Debug)]
pub enum Segment<'t> {
    /// Under a key.
    Key(&'t str),
    /// At an index of a list.
    Index(usize),
}

/// Collects problems while a tree is decoded. Paths are written out only for problems.
#[derive(Debug, Default)]
pub struct Decoder<'t> {
    path: Vec<Segment<'t>>,
    findings: Vec<Finding>,
    refuse_secrets: bool,
}

impl<'t> Decoder<'t> {
    /// All problems.
    pub fn into_findings(self) -> Vec<Finding> {
        self.findings
    }

    /// Decodes something one step further in.
    pub fn within<T>(&mut self, segment: Segment<'t>, read: impl FnOnce(&mut Decoder<'t>) -> T) -> T {
        self.path.push(segment);
        let value = read(self);
        self.path.pop();
        value
    }

    /// Decodes something in which a key that looks like a secret is an error and not a warning.
    pub fn refusing_secrets<T>(&mut self, read: impl FnOnce(&mut Decoder<'t>) -> T) -> T {
        let before = std::mem::replace(&mut self.refuse_secrets, true);
        let value = read(self);
        self.refuse_secrets = before;
        value
    }

    /// A value for a message: masked under a key that looks like a secret.
    pub fn shown(&self, text: &str) -> String {
        let key = self.path.iter().rev().find_map(|segment| match segment {
            Segment::Key(key) => Some(*key),
            Segment::Index(_) => None,
        });
        if key.is_some_and(secret::is_secret_key_name) { secret::HIDDEN.to_owned() } else { quoted(text) }
    }

    /// Reports the value under a key if the key looks like that of a secret and the value is a literal.
    pub fn look_for_secret(&mut self, key: &str, value: NodeRef<'t>) {
        if secret::is_secret_key_name(key) && holds_literal(value) {
            self.secret_found(value, key);
        }
    }

    fn secret_found(&mut self, value: NodeRef<'t>, key: &str) {
        self.report(match self.refuse_secrets {
            true => secret::inline_finding(value.span(), &quoted(key)),
            false => secret::suspected_finding(value.span(), key),
        });
    }

    /// Reports a problem at the current path.
    pub fn report(&mut self, finding: Finding) {
        if !self.is_full() {
            let path = self.path_text();
            self.findings.push(finding.at(path));
        }
    }

    /// Whether the limit of problems is reached.
    fn is_full(&self) -> bool {
        self.findings.len() >= MAX_FINDINGS
    }

    /// Reports a problem one step further in.
    pub fn report_within(&mut self, segment: Segment<'t>, finding: Finding) {
        self.within(segment, |decoder| decoder.report(finding));
    }

    fn path_text(&self) -> String {
        path_text(self.path.iter().copied())
    }

    /// The entries of a map; reports any other value. Null is an empty map.
    pub fn mapping(&mut self, node: NodeRef<'t>) -> Option<Entries<'t>> {
        match node.content() {
            YamlContent::Mapping(entries) => Some(entries),
            YamlContent::Scalar(Scalar::Null) => Some(Entries::none(node)),
            YamlContent::Scalar(_) | YamlContent::Sequence(_) => self.wrong_type(node, "a map"),
        }
    }

    /// Checks that exactly one of these keys is given, and reports otherwise.
    pub fn exactly_one(&mut self, node: NodeRef<'t>, keys: &[(&'static str, bool)]) -> bool {
        let given: Vec<&str> = keys.iter().filter(|(_, given)| *given).map(|(key, _)| *key).collect();
        let known: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
        let words = known.join("`, `");
        match given.as_slice() {
            [_] => true,
            [] => {
                let finding =
                    Finding::new(Code::MissingKey, first_byte(node), format!("one of `{words}` is missing"));
                self.report(finding.help("give exactly one of them"));
                false
            }
            [_, second, ..] => {
                let span = node.key(second).map_or(node.span(), NodeRef::span);
                let finding =
                    Finding::new(Code::ConflictingKeys, span, format!("`{words}` cannot be used together"));
                self.report_within(Segment::Key(second), finding.help("keep exactly one of them"));
                false
            }
        }
    }

    /// A text. Unquoted numbers are used as they are written (`version: 1.10` is `1.10`); `true`, `false` and null are
    /// not text.
    pub fn text(&mut self, node: NodeRef<'t>) -> Option<&'t str> {
        match node.content() {
            YamlContent::Scalar(Scalar::Text(text)) => Some(text),
            YamlContent::Scalar(Scalar::Int(_) | Scalar::Float(_) | Scalar::Unrepresentable(_)) => {
                node.scalar_text()
            }
            _ => self.wrong_type(node, "text"),
        }
    }

    /// Reports a value of the wrong type.
    pub fn wrong_type<T>(&mut self, node: NodeRef<'t>, expected: &str) -> Option<T> {
        let found = match node.content() {
            YamlContent::Scalar(Scalar::Null) => "nothing",
            YamlContent::Scalar(Scalar::Bool(_)) => "true/false",
            YamlContent::Scalar(Scalar::Int(_) | Scalar::Float(_) | Scalar::Unrepresentable(_)) => "a number",
            YamlContent::Scalar(Scalar::Text(_)) => "text",
            YamlContent::Sequence(_) => "a list",
            YamlContent::Mapping(_) => "a map",
        };
        let finding =
            Finding::new(Code::WrongType, node.span(), format!("expected {expected}, found {found}"));
        let help = match (expected, found) {
            ("text", "true/false" | "nothing") => Some("put it in quotes if it is text"),
            ("a list", "text" | "a number") => Some("write a list: `[value]`, or one `- value` per line"),
            ("true or false", "text") => {
                Some("write `true` or `false` without quotes; yes/no/on/off are text")
            }
            _ => None,
        };
        self.report(match help {
            Some(help) => finding.help(help),
            None => finding,
        });
        None
    }

    /// Reports an invalid text.
    pub fn report_invalid_text(&mut self, node: NodeRef<'t>, complaint: InvalidText) {
        let mut finding = Finding::new(complaint.code, node.span(), complaint.message);
        finding.help = complaint.help;
        self.report(finding);
    }

    /// Reports an unknown key, with the nearest known one.
    pub fn check_unknown_key(&mut self, key: NodeRef<'t>, known: &[&'static str], beside: SiblingKeys) {
        let text = key.scalar_text().unwrap_or_default();
        let is_beside = beside.name_key == Some(text) || beside.keys.contains(&text);
        if is_beside || beside.unknown == UnknownKeys::Ignore || self.is_full() {
            return;
        }
        let known: Vec<&str> = beside
            .name_key
            .into_iter()
            .chain(known.iter().copied())
            .chain(beside.keys.iter().copied())
            .collect();
        let help = match (nearest(text, known.iter().copied()), beside.name_key) {
            (_, Some(name_key)) if matches!(text, "name" | "hostname" | "host") => {
                format!("here the name is given as `{name_key}`")
            }
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, _) => format!("known here: {}", known.join(", ")),
        };
        let finding = Finding::new(Code::UnknownKey, key.span(), format!("unknown key {}", quoted(text)));
        self.report_within(Segment::Key(text), finding.help(help));
    }

    /// Reports a missing required key.
    pub fn missing_key(&mut self, node: NodeRef<'t>, key: &'static str) {
        self.report(
            Finding::new(Code::MissingKey, first_byte(node), format!("`{key}` is missing"))
                .help(format!("add `{key}: …` here")),
        );
    }

    /// Reports a word that is not allowed.
    pub fn not_a_choice(&mut self, node: NodeRef<'t>, found: &str, words: &[&'static str]) {
        let finding =
            Finding::new(Code::BadValue, node.span(), format!("{} is not allowed here", quoted(found)));
        let allowed = words.join(", ");
        self.report(finding.help(match nearest(found, words.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? Allowed: {allowed}"),
            None => format!("allowed: {allowed}"),
        }));
    }
}

/// Whether a value, or anything inside it, is a literal and not a reference. Booleans are not secrets.
fn holds_literal(node: NodeRef<'_>) -> bool {
    match node.content() {
        YamlContent::Scalar(Scalar::Null | Scalar::Bool(_)) => false,
        YamlContent::Scalar(_) => node.scalar_text().is_some_and(secret::is_literal),
        YamlContent::Sequence(mut items) => items.any(holds_literal),
        YamlContent::Mapping(mut entries) => entries.any(|(_, value)| holds_literal(value)),
    }
}

/// The first byte of a map, as the place of a missing key: the whole map would hide the message.
fn first_byte(node: NodeRef<'_>) -> std::ops::Range<usize> {
    let span = node.span();
    span.start..(span.start + 1).min(span.end).max(span.start)
}

/// A path for display: `nodes[2].labels.tier`, with quotes around keys that need them.
pub(crate) fn path_text<'t>(segments: impl Iterator<Item = Segment<'t>>) -> String {
    let mut text = String::new();
    for segment in segments {
        match segment {
            Segment::Index(index) => {
                let _ = write!(text, "[{index}]");
            }
            Segment::Key(key) => {
                let key = &*shortened(key);
                let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
                match (plain, text.is_empty()) {
                    (true, true) => text.push_str(key),
                    (true, false) => {
                        let _ = write!(text, ".{key}");
                    }
                    (false, _) => {
                        let _ = write!(text, "[{key:?}]");
                    }
                }
            }
        }
    }
    text
}

/// A key in a path, shortened. Every problem has a path, so a key as large as a file would be copied for each of them.
fn shortened(key: &str) -> Cow<'_, str> {
    match key.char_indices().nth(MAX_KEY_IN_PATH) {
        Some((end, _)) => Cow::Owned(format!("{}…", &key[..end])),
        None => Cow::Borrowed(key),
    }
}

/// The known word most similar to `text`.
pub fn nearest<'w>(text: &str, known: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    // A long text cannot be similar to any known word, and comparing it would take quadratic time.
    if text.len() > 64 {
        return None;
    }
    let folded = fold(text);
    let length = folded.chars().count();
    let allowed = (length / 3).max(1);
    known
        .map(|word| (word, fold(word)))
        .filter(|(_, candidate)| candidate.chars().count().abs_diff(length) <= allowed)
        .map(|(word, candidate)| (strsim::damerau_levenshtein(&folded, &candidate), word))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Normalises a word: `nodePlatform`, `node-platform` and `node_platform` are equal.
fn fold(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_forgives_case_separators_and_one_slip_in_three_letters() {
        let known = ["node_platform", "modules", "extends", "metadata"];
        let find = |text| nearest(text, known.into_iter());
        assert_eq!(find("nodePlatform"), Some("node_platform"));
        assert_eq!(find("moduels"), Some("modules"));
        assert_eq!(find("extend"), Some("extends"));
        assert_eq!(find("replicas"), None);
    }

    #[test]
    fn paths_quote_keys_that_need_it() {
        let path =
            [Segment::Key("assignments"), Segment::Key("a:b"), Segment::Key("config"), Segment::Index(2)];
        assert_eq!(path_text(path.into_iter()), "assignments[\"a:b\"].config[2]");
        let long = "é".repeat(100_000);
        assert_eq!(
            path_text([Segment::Key(&long)].into_iter()).chars().count(),
            256 + "[\"…\"]".chars().count()
        );
    }
}
