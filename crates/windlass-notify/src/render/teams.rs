//! Microsoft Teams: an adaptive card for a workflow that posts its input. The text is in text runs, the one element in
//! which nothing is markup.

use serde_json::{Value, json};

use crate::message::NotificationMessage;
use crate::sanitize::{MAX_MESSAGE_CHARS, MAX_NAME_CHARS, multi_line, single_line};

pub(super) fn body(message: &NotificationMessage) -> Value {
    let runs = |runs: Vec<Value>| json!({"type": "RichTextBlock", "inlines": runs});
    let run = |text: &str| json!({"type": "TextRun", "text": text});
    let bold = |text: &str| json!({"type": "TextRun", "text": text, "weight": "Bolder"});
    let mut body = vec![
        runs(vec![
            json!({"type": "TextRun", "text": single_line(&message.title(), 100), "weight": "Bolder", "size": "Large"}),
        ]),
        runs(vec![run(&multi_line(&message.text, MAX_MESSAGE_CHARS))]),
    ];
    for (name, value) in message.facts() {
        body.push(runs(vec![bold(&format!("{name}: ")), run(&single_line(&value, MAX_NAME_CHARS))]));
    }
    let actions: Vec<Value> = message
        .link
        .iter()
        .map(|link| json!({"type": "Action.OpenUrl", "title": "Open in Windlass", "url": link}))
        .collect();
    let card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
        "actions": actions,
    });
    let attachment = json!({"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": null, "content": card});
    json!({"type": "message", "attachments": [attachment]})
}
