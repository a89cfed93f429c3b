//! Formatting functions that templates share: times, counts, tones.

use serde_json::Value;
use windlass_core::diff::Action;
use windlass_core::resource::Kind;
use windlass_core::time::Timestamp;

pub(crate) use crate::sentence::{sentence, title};
use crate::state_label::StateLabel;

/// Longer values are cut in tables; the proposal's page shows them in full.
const MAX_SHOWN: usize = 72;

/// How long ago a time was, or how long until it comes.
pub(crate) fn ago(now: &Timestamp, at: &str) -> String {
    let Some(moment) = Timestamp::parse(at) else { return at.to_owned() };
    let (past, future) = (now.elapsed_since(moment).as_secs(), moment.elapsed_since(*now).as_secs());
    match (past, future) {
        (0..=4, 0..=4) => "just now".to_owned(),
        (past, 0) => format!("{} ago", duration(past)),
        (_, future) => format!("in {}", duration(future)),
    }
}

/// A duration.
pub(crate) fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A time for a tooltip, without milliseconds.
pub(crate) fn timestamp(at: &str) -> String {
    let cut = at.split_once('.').map_or(at, |(whole, _)| whole);
    format!("{} UTC", cut.replace('T', " ").trim_end_matches('Z'))
}

/// `1 change`, `2 changes`. Accepts any number type, as templates pass them.
pub(crate) fn count(count: impl std::fmt::Display, noun: &str) -> String {
    let number = count.to_string();
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// The beginning of a commit id, as git shortens it.
pub(crate) fn short_commit(id: &str) -> String {
    id.chars().take(10).collect()
}

/// The end of an id: ids created at the same time begin alike.
pub(crate) fn short_id(id: &str) -> String {
    let length = id.chars().count();
    id.chars().skip(length.saturating_sub(8)).collect()
}

/// The beginning of a digest.
pub(crate) fn short_digest(digest: &str) -> String {
    digest.trim_start_matches("sha256:").chars().take(12).collect()
}

/// The text for a set of changes: `8001 changes, 3 deletions included`, or `40 × update node`.
pub(crate) fn change_set(set: &windlass_api::types::ChangeSetInfo) -> String {
    let destroys = match set.destroys {
        0 => String::new(),
        1 => ", including 1 deletion".to_owned(),
        many => format!(", including {many} deletions"),
    };
    match (&set.change, &set.kind) {
        (Some(change), Some(kind)) => format!("{} × {change} {}", set.count, self::kind(kind)),
        _ => format!("{}{destroys}", count(set.count, "change")),
    }
}

/// A value on one line, cut if it is long.
pub(crate) fn value(value: &Value) -> String {
    let text = match value {
        Value::Null => return "—".to_owned(),
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if !items.is_empty() && items.iter().all(is_single) => {
            items.iter().map(self::value).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    };
    shortened(&text)
}

fn is_single(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// The actor without the proposal: pages link to that separately.
pub(crate) fn person(name: &str) -> &str {
    name.split_once(" (proposal ").map_or(name, |(person, _)| person)
}

/// A map or list in a few words: `env: prod, matchLabels: {…}` without empty members.
pub(crate) fn value_summary(value: &Value) -> String {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    let text = match value {
        Value::Object(map) => {
            let told = map.iter().filter(|(_, value)| says(value)).map(|(key, value)| match value {
                Value::Object(_) => value_summary(value),
                _ => format!("{key}: {}", value_summary(value)),
            });
            told.collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) => items.iter().map(value_summary).collect::<Vec<_>>().join(", "),
        other => self::value(other),
    };
    shortened(&text)
}

/// A text on one line, cut if it is long.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.replace('\n', " ⏎ ");
    match line.char_indices().nth(MAX_SHOWN) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

/// A document as a list of facts: each member of an object with its full value.
pub(crate) fn facts(document: &Value) -> Vec<(String, String)> {
    match document {
        Value::Null => Vec::new(),
        Value::Object(members) => {
            let told = members.iter().filter(|(_, value)| !value.is_null());
            told.map(|(name, value)| (title(name), whole(value))).collect()
        }
        other => vec![("Detail".to_owned(), whole(other))],
    }
}

fn whole(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A text encoded for a query.
pub(crate) fn query(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// The blockers that are not dependencies: a missing dependency is already shown as one.
pub(crate) fn other_reasons<'r>(reasons: &'r [String], first: &[String]) -> Vec<&'r String> {
    let is_said = |reason: &str| {
        first.iter().any(|word| reason.strip_prefix(word.as_str()).is_some_and(|rest| rest.starts_with(' ')))
    };
    reasons.iter().filter(|reason| !is_said(reason)).collect()
}

/// The label of a state.
pub(crate) fn state(shown: impl StateLabel) -> String {
    shown.label()
}

/// The label of a kind of resource.
pub(crate) fn kind(slug: &str) -> String {
    match slug {
        "virtual_ip" => "virtual IP".to_owned(),
        "virtual_ips" => "virtual IPs".to_owned(),
        other => other.replace('_', " "),
    }
}

/// The tone of a state.
pub(crate) fn tone(shown: impl StateLabel) -> &'static str {
    shown.tone()
}

/// The class of a change.
pub(crate) fn change_tone(change: &Action) -> &'static str {
    change.word()
}

/// The sign of a change, beside its colour.
pub(crate) fn change_sign(change: &Action) -> &'static str {
    match change {
        Action::Create => "+",
        Action::Destroy => "−",
        Action::Update => "~",
    }
}

/// The icon of a kind of resource.
pub(crate) fn kind_icon(kind: &str) -> &'static str {
    let Some(kind) = Kind::from_word(kind) else { return "dot" };
    match kind {
        Kind::Template => "template",
        Kind::Module | Kind::ModuleVersion | Kind::Assignment => "module",
        Kind::Node => "node",
        Kind::Network | Kind::Peer | Kind::VirtualIp | Kind::FederationPeer => "network",
        Kind::Cluster | Kind::ClusterGroup => "cluster",
        Kind::Bundle => "bundle",
        Kind::NotificationProvider | Kind::Alert => "events",
    }
}

/// The message of a commit without its first line.
pub(crate) fn body(message: &Option<String>) -> Option<&str> {
    let (_, rest) = message.as_deref()?.trim_start().split_once('\n')?;
    Some(rest.trim()).filter(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn moments_are_told_as_people_would() {
        let now = Timestamp::parse("2026-11-16T12:00:00Z").expect("a moment");
        for (at, told) in [
            ("2026-11-16T11:59:58.000Z", "just now"),
            ("2026-11-16T11:59:20.000Z", "40 s ago"),
            ("2026-11-16T11:15:00.000Z", "45 min ago"),
            ("2026-11-15T12:00:00.000Z", "24 h ago"),
            ("2026-11-10T12:00:00.000Z", "6 days ago"),
            ("2026-11-16T13:00:00.000Z", "in 1 h"),
            ("whenever", "whenever"),
        ] {
            assert_eq!(ago(&now, at), told);
        }
        assert_eq!(timestamp("2026-11-16T12:00:00.123Z"), "2026-11-16 12:00:00 UTC");
    }

    #[test]
    fn a_sentence_begins_large_unless_it_begins_with_a_name() {
        assert_eq!(sentence("there is none"), "There is none");
        assert_eq!(sentence("fleet.yaml:4:23: unknown key"), "fleet.yaml:4:23: unknown key");
        assert_eq!((sentence(""), title("commit_sha")), (String::new(), "Commit sha".to_owned()));
    }

    #[test]
    fn a_map_is_told_by_what_it_says() {
        let selector = json!({"matchExpressions": [], "matchLabels": {"env": "prod"}, "none": null});
        assert_eq!(value_summary(&selector), "env: prod");
        assert_eq!(
            value_summary(&json!([{"cluster": "a"}, {"cluster_group": "b"}])),
            "cluster: a, cluster_group: b"
        );
        assert_eq!(person("ada@example.com (proposal 01a1)"), "ada@example.com");
        assert_eq!(person("token ci (ada@example.com)"), "token ci (ada@example.com)");
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(value(&json!("ü".repeat(100))).chars().count(), MAX_SHOWN + 1);
        assert_eq!(value(&json!({"a": [1]})), "{\"a\":[1]}");
        assert_eq!(value(&json!("a\nb")), "a ⏎ b");
    }

    #[test]
    fn a_text_in_an_address_stays_one_part_of_it() {
        assert_eq!(query("a b/c&d=é\"#"), "a%20b%2Fc%26d%3D%C3%A9%22%23");
    }

    #[test]
    fn facts_are_told_in_full_and_what_is_not_known_is_left_out() {
        let long = "x".repeat(200);
        let told = facts(&json!({"commit_sha": long, "reason": null, "change": {"a": 1}}));
        assert_eq!(told, [("Change".to_owned(), "{\"a\":1}".to_owned()), ("Commit sha".to_owned(), long)]);
        assert_eq!(facts(&json!(null)), []);
    }
}
