//! Drift of a machine: the items that an agent found different, made safe to store and to show, and which of them people
//! accepted.
//!
//! Everything here was written by an agent, and a host may belong to an attacker: texts are masked and cut, and a host has
//! a limited number of items and bytes.

use std::collections::BTreeMap;
use std::fmt;

use crate::content::FileDifference;
use crate::digest::Digest;
use crate::display::sanitize_for_terminal;
use crate::host::FieldDifference;
use crate::observed::AgentMessage;
use crate::resource::DriftMode;
use crate::secret::{self, HIDDEN, is_secret_key_name, mask_excerpt, without_secrets};
use crate::states::Spelled as _;
use crate::time::Timestamp;

use super::acceptance::is_current;

/// The most drifted items that are stored of one target. More are counted.
pub const MAX_ITEMS_OF_TARGET: usize = 1_000;

/// The most bytes of differences that are stored of one target. Further items are stored without their differences.
const MAX_BYTES_OF_TARGET: usize = 1024 * 1024;

/// The most bytes of one item's differences: a whole diff as [`crate::content`] limits it, and room for the other fields.
const MAX_BYTES_OF_ITEM: usize = 48 * 1024;

/// The most fields of one item. No type of item has as many.
const MAX_FIELDS: usize = 64;

/// The longest value of a field: the longest path of Linux.
const MAX_VALUE: usize = 4_096;

/// The longest diff of a file.
const MAX_LINES: usize = 40 * 1024;

/// Which item of a machine: its type and its name there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemKey {
    /// The type: `package`, `path`, `service` and so on.
    pub kind: String,
    /// The name or the path.
    pub name: String,
}

impl ItemKey {
    /// The longest name: the longest path of Linux.
    pub const MAX_NAME: usize = 4_096;

    /// The key that an agent reports; none if no agent of ours reports such a key.
    pub fn reported(kind: &str, name: &str) -> Option<ItemKey> {
        let is_word = (1..=32).contains(&kind.len())
            && kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let is_name = (1..=ItemKey::MAX_NAME).contains(&name.len()) && sanitize_for_terminal(name) == name;
        (is_word && is_name).then(|| ItemKey { kind: kind.to_owned(), name: name.to_owned() })
    }
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// An item of a machine that differs from what the machine shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftedItem {
    /// Which item.
    pub key: ItemKey,
    /// The module that it comes from.
    pub module: String,
    /// What the agent does about it.
    pub mode: DriftMode,
    /// Since when it differs, by the agent's clock.
    pub since: Timestamp,
    /// The fields that differ. Empty if the agent could not compare.
    pub fields: Vec<FieldDifference>,
    /// Why there are no fields.
    pub problem: Option<AgentMessage>,
}

impl DriftedItem {
    /// Masks secrets that the agent left in, and cuts what is too long. Agents mask too, but a server does not rely on it.
    pub fn made_safe(mut self) -> DriftedItem {
        self.fields.truncate(MAX_FIELDS);
        self.fields = self.fields.into_iter().map(safe_field).collect();
        if self.bytes() > MAX_BYTES_OF_ITEM { self.without_fields() } else { self }
    }

    /// The item without its differences, because there are too many to store.
    pub fn without_fields(mut self) -> DriftedItem {
        self.fields = Vec::new();
        self.problem = Some(AgentMessage::new("the difference is too long to store; look at the host"));
        self
    }

    /// The size of its differences.
    pub fn bytes(&self) -> usize {
        if self.fields.is_empty() { 0 } else { self.fields_json().len() }
    }

    /// Its differences as they are stored.
    pub fn fields_json(&self) -> String {
        serde_json::to_string(&self.fields).expect("differences are JSON")
    }

    /// What differs, in a digest. It stays the same while the item differs in the same way, whatever the time.
    pub fn digest(&self) -> Digest {
        let text = serde_json::json!([
            self.key.kind,
            self.key.name,
            self.module,
            self.mode.spelling(),
            self.fields,
            self.problem.as_ref().map(AgentMessage::as_str),
        ]);
        Digest::of(text.to_string().as_bytes())
    }
}

/// The drifted items of a target that are stored, when a report listed `items` and others stay: at most
/// [`MAX_ITEMS_OF_TARGET`] with `MAX_BYTES_OF_TARGET` together. Returns how many were left out.
pub fn bound_items(items: &mut Vec<DriftedItem>, staying: usize, staying_bytes: usize) -> u64 {
    let room = MAX_ITEMS_OF_TARGET.saturating_sub(staying);
    let left_out = items.len().saturating_sub(room);
    items.truncate(room);
    let mut bytes = staying_bytes;
    for item in items.iter_mut() {
        let size = item.bytes();
        if bytes + size > MAX_BYTES_OF_TARGET {
            *item = item.clone().without_fields();
        } else {
            bytes += size;
        }
    }
    left_out as u64
}

/// Shortens a text to this many bytes, at a character.
fn cut(text: String, bytes: usize) -> String {
    if text.len() <= bytes {
        return text;
    }
    let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

fn safe_value(field: &str, value: String) -> String {
    let value = cut(value, MAX_VALUE);
    if is_secret_key_name(field) && secret::is_literal(&value) && !secret::is_mask(&value) {
        return HIDDEN.to_owned();
    }
    let masked = without_secrets(&value);
    sanitize_for_terminal(&mask_excerpt(&masked, 0..masked.len()))
}

fn safe_field(field: FieldDifference) -> FieldDifference {
    match field {
        FieldDifference::Value { field, observed, desired } => {
            let field = sanitize_for_terminal(&cut(field, 128));
            let safe = |value: Option<String>| value.map(|value| safe_value(&field, value));
            let (observed, desired) = (safe(observed), safe(desired));
            FieldDifference::Value { field, observed, desired }
        }
        FieldDifference::Content(file) => FieldDifference::Content(safe_content(file)),
    }
}

fn safe_content(file: FileDifference) -> FileDifference {
    let is_too_long = file.lines.as_ref().is_some_and(|lines| lines.len() > MAX_LINES);
    let not_shown = match is_too_long {
        true => Some("the difference is too long to show".to_owned()),
        false => file.not_shown.map(|why| AgentMessage::new(&why).as_str().to_owned()),
    };
    FileDifference {
        path: sanitize_for_terminal(&cut(file.path, MAX_VALUE)),
        lines: file.lines.filter(|_| !is_too_long).map(|lines| masked_lines(&lines)),
        not_shown,
        ..file
    }
}

/// The lines of a diff with secrets masked. The mark at the beginning of each line is no part of the text.
fn masked_lines(lines: &str) -> String {
    let (mut text, mut marks) = (String::with_capacity(lines.len()), Vec::new());
    for line in lines.lines() {
        let mark = line.chars().next().filter(|c| matches!(c, '+' | '-' | ' ' | '@' | '\\'));
        let rest = &line[mark.map_or(0, char::len_utf8)..];
        marks.push((mark, text.len()..text.len() + rest.len()));
        text.push_str(rest);
        text.push('\n');
    }
    let mut shown = String::with_capacity(lines.len());
    for (mark, place) in marks {
        shown.extend(mark);
        shown.push_str(&sanitize_for_terminal(&mask_excerpt(&text, place)));
        shown.push('\n');
    }
    shown
}

/// The drift of an item that someone accepted. It is valid while the item differs in exactly this way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemAcceptance {
    /// The item.
    pub item: ItemKey,
    /// What differed: [`DriftedItem::digest`].
    pub digest: Digest,
    /// The time of its expiry; `None` if it does not expire.
    pub until: Option<Timestamp>,
    /// The reason.
    pub reason: String,
    /// Who accepted it.
    pub by: String,
    /// The time.
    pub at: Timestamp,
}

impl ItemAcceptance {
    /// Whether it covers an item that differs in this way now.
    pub fn holds(&self, digest: Digest, now: Timestamp) -> bool {
        self.digest == digest && is_current(self.until, now)
    }
}

/// The acceptances of one target.
#[derive(Clone, Debug, Default)]
pub struct ItemAcceptances(BTreeMap<ItemKey, ItemAcceptance>);

impl ItemAcceptances {
    /// The acceptance of an item that differs in this way, if it is valid.
    pub fn of(&self, item: &ItemKey, digest: Digest, now: Timestamp) -> Option<&ItemAcceptance> {
        self.0.get(item).filter(|acceptance| acceptance.holds(digest, now))
    }
}

impl FromIterator<ItemAcceptance> for ItemAcceptances {
    fn from_iter<I: IntoIterator<Item = ItemAcceptance>>(acceptances: I) -> ItemAcceptances {
        ItemAcceptances(acceptances.into_iter().map(|one| (one.item.clone(), one)).collect())
    }
}

#[cfg(test)]
#[path = "reported_tests.rs"]
mod tests;
