//! Slack: blocks of plain text, in which nothing is markup. Slack parses only the summary line; there `&`, `<` and `>`
//! are escaped as Slack requires, and `@` is defused, also for chats with a Slack-compatible API.

use serde_json::{Value, json};

use crate::message::NotificationMessage;
use crate::sanitize::{MAX_MESSAGE_CHARS, MAX_NAME_CHARS, cut, defuse_mentions, multi_line, single_line};

/// Slack's limit for a header, with a margin.
const MAX_HEADER_CHARS: usize = 140;

pub(super) fn body(message: &NotificationMessage, channel: &str) -> Value {
    let title = single_line(&message.title(), MAX_HEADER_CHARS);
    let text = multi_line(&message.text, MAX_MESSAGE_CHARS);
    let plain = |text: &str| json!({"type": "plain_text", "text": text, "emoji": false});
    let facts: Vec<Value> = message
        .facts()
        .into_iter()
        .map(|(name, value)| {
            plain(&cut(&format!("{name}: {}", single_line(&value, MAX_NAME_CHARS)), MAX_NAME_CHARS))
        })
        .collect();
    let mut blocks = vec![
        json!({"type": "header", "text": plain(&title)}),
        json!({"type": "section", "text": plain(&text)}),
        json!({"type": "context", "elements": facts}),
    ];
    if let Some(link) = &message.link {
        let button = json!({"type": "button", "text": plain("Open in Windlass"), "url": link});
        blocks.push(json!({"type": "actions", "elements": [button]}));
    }
    let mut body = json!({
        "text": escaped(&defuse_mentions(&format!("{title}: {}", single_line(&message.text, MAX_NAME_CHARS)))),
        "blocks": blocks,
        "mrkdwn": false,
        "unfurl_links": false,
        "unfurl_media": false,
    });
    if !channel.is_empty() {
        body["channel"] = json!(single_line(channel, 80));
    }
    body
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
