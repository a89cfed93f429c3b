//! Discord: one embed. Every character that could be markup has a backslash before it, and mentions are disabled.

use serde_json::{Value, json};

use crate::message::{MessageState, NotificationMessage};
use crate::sanitize::{
    MAX_MESSAGE_CHARS, MAX_NAME_CHARS, backslash_escape, defuse_mentions, multi_line, single_line,
};

/// Every character that Discord's markdown could interpret.
const MARKUP: &str = "\\*_~`|>#[]()<:-";

pub(super) fn body(message: &NotificationMessage) -> Value {
    let fields: Vec<Value> = message
        .facts()
        .into_iter()
        .map(|(name, value)| {
            let value = escape_markup(&single_line(&value, MAX_NAME_CHARS));
            json!({"name": name, "value": value, "inline": true})
        })
        .collect();
    let mut embed = json!({
        "title": escape_markup(&single_line(&message.title(), 100)),
        "description": escape_markup(&multi_line(&message.text, MAX_MESSAGE_CHARS)),
        "color": color(message),
        "fields": fields,
        "timestamp": message.at.to_string(),
    });
    if let Some(link) = &message.link {
        embed["url"] = json!(link);
    }
    json!({"username": "Windlass", "embeds": [embed], "allowed_mentions": {"parse": []}})
}

fn escape_markup(text: &str) -> String {
    defuse_mentions(&backslash_escape(text, MARKUP))
}

fn color(message: &NotificationMessage) -> u32 {
    match (message.state, message.severity.as_str()) {
        (MessageState::Resolved, _) => 0x002e_7d32,
        (_, "critical") => 0x00b7_1c1c,
        (_, "high") => 0x00e6_5100,
        (_, "medium") => 0x00f9_a825,
        _ => 0x0054_6e7a,
    }
}
