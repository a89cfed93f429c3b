//! Slack: blocks of plain text, in which nothing is markup. Slack parses only the summary line; there `&`, `<` and `>`
//! are escaped as Slack requires, and `@` is defused, also for chats with a Slack-compatible API.

use serde_json::{Value, json};

use crate::message::NotificationMessage;
use crate::sanitize::{LONG, SHORT, cut, defuse_mentions, line, lines};

/// Slack's limit for a header, with a margin.
const HEADER: usize = 140;

pub(super) fn body(message: &NotificationMessage, channel: &str) -> Value {
    let title = line(&message.title(), HEADER);
    let text = lines(&message.text, LONG);
    let plain = |text: &str| json!({"type": "plain_text", "text": text, "emoji": false});
    let facts: Vec<Value> = message
        .facts()
        .into_iter()
        .map(|(name, value)| plain(&cut(&format!("{name}: {}", line(&value, SHORT)), SHORT)))
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
        "text": escaped(&defuse_mentions(&format!("{title}: {}", line(&message.text, SHORT)))),
        "blocks": blocks,
        "mrkdwn": false,
        "unfurl_links": false,
        "unfurl_media": false,
    });
    if !channel.is_empty() {
        body["channel"] = json!(line(channel, 80));
    }
    body
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
