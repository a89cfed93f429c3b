//! No provider interprets names and messages as markup, mentions, links or headers, whatever they contain.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use proptest::prelude::*;
use serde_json::Value;
use windlass_core::resource::{Kind, NotificationProviderSpec, Spec};
use windlass_core::time::Timestamp;
use windlass_notify::{Mail, MessageState, NotificationMessage, Payload, render};

/// Fragments of attacks.
const PIECES: &[&str] = &[
    "@everyone",
    "@here",
    "<!channel>",
    "<@U123>",
    "<https://evil.example|click>",
    "[click](https://evil.example)",
    "*bold*",
    "_it_",
    "`code`",
    "||spoiler||",
    "> quote",
    "<b>",
    "</p><script>alert(1)</script>",
    "\"'",
    "\r\nBcc: eve@evil.example\r\n",
    "\n",
    "\u{202e}",
    "\u{200b}",
    "\0",
    "https://me:hunter2@host",
    "https://hooks.slack.com/services/hunter2",
    "&amp;",
    "\\",
    "ünïcode",
    "<at>eve</at>",
];

fn provider(json: &str) -> NotificationProviderSpec {
    match Spec::read(Kind::NotificationProvider, json).spec {
        Some(Spec::NotificationProvider(provider)) => provider,
        other => panic!("{json}: {other:?}"),
    }
}

fn providers() -> Vec<NotificationProviderSpec> {
    [
        r#"{"type": "slack", "credential_path": "x", "channel": "ops"}"#,
        r#"{"type": "discord", "credential_path": "x"}"#,
        r#"{"type": "teams", "credential_path": "x"}"#,
        r#"{"type": "webhook", "credential_path": "x"}"#,
        r#"{"type": "alertmanager", "credential_path": "x"}"#,
        r#"{"type": "email", "credential_path": "x", "from": "a@b.c", "to": ["d@e.f"]}"#,
    ]
    .map(provider)
    .into()
}

fn message(text: &str, state: MessageState) -> NotificationMessage {
    let text = || text.to_owned();
    NotificationMessage {
        account: text(),
        alert: Some(text()),
        seq: Some(7),
        kind: format!("gitops.{}", text()),
        severity: "high".to_owned(),
        state,
        resource: Some((text(), text())),
        repository: Some(text()),
        run_id: None,
        source: text(),
        text: text(),
        at: Timestamp::from_millis(1_763_251_200_000),
        link: Some("https://windlass.example.com/app/approvals?run=7".to_owned()),
    }
}

fn json(provider: &NotificationProviderSpec, message: &NotificationMessage) -> Value {
    match render(provider, message, "d-1") {
        Payload::Json(body) => body,
        Payload::Mail(mail) => panic!("{mail:?}"),
    }
}

fn mail(message: &NotificationMessage) -> Mail {
    match render(&providers()[5], message, "d-1") {
        Payload::Mail(mail) => mail,
        Payload::Json(body) => panic!("{body}"),
    }
}

/// Calls `visit` with every text in the value, and the key of each.
fn texts(value: &Value, key: &str, visit: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::String(text) => visit(key, text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, key, visit)),
        Value::Object(map) => map.iter().for_each(|(key, value)| texts(value, key, visit)),
        _ => {}
    }
}

fn check_json(body: &Value) {
    let whole = body.to_string();
    assert!(whole.len() < 24_000, "{}", whole.len());
    assert!(!whole.contains("hunter2"), "{whole}");
    texts(body, "", &mut |_, text| {
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert!(!text.contains('\u{202e}'), "{text:?}");
    });
}

fn check_slack(body: &Value) {
    let summary = body["text"].as_str().unwrap();
    assert!(!summary.contains(['<', '>', '\n']) && !summary.contains("@e"), "{summary}");
    for block in body["blocks"].as_array().unwrap() {
        let block = block.to_string();
        assert!(!block.contains("mrkdwn"), "{block}");
    }
    assert!(body["blocks"][1]["text"]["text"].as_str().unwrap().chars().count() <= 3000);
    assert!(body["blocks"][0]["text"]["text"].as_str().unwrap().chars().count() <= 150);
}

fn check_discord(body: &Value) {
    assert_eq!(body["allowed_mentions"]["parse"], serde_json::json!([]));
    let embed = &body["embeds"][0];
    let mut total = 0;
    texts(embed, "", &mut |key, text| {
        total += text.chars().count();
        if !matches!(key, "title" | "description" | "value") {
            return;
        }
        let chars: Vec<char> = text.chars().collect();
        for (at, c) in chars.iter().enumerate() {
            let is_escaped = chars[..at].iter().rev().take_while(|c| **c == '\\').count() % 2 == 1;
            assert!(!"*_`|[]()<>".contains(*c) || is_escaped, "{text}");
            assert!(*c != '@' || chars.get(at + 1) == Some(&'\u{200b}'), "{text}");
        }
    });
    assert!(total <= 6000, "{total}");
    assert!(embed["title"].as_str().unwrap().chars().count() <= 256);
}

fn check_teams(body: &Value) {
    let card = &body["attachments"][0]["content"];
    for block in card["body"].as_array().unwrap() {
        assert_eq!(block["type"], "RichTextBlock");
        assert!(block["inlines"].as_array().unwrap().iter().all(|inline| inline["type"] == "TextRun"));
    }
    assert!(card.get("msteams").is_none());
}

fn check_mail(mail: &Mail, plain: &Mail) {
    assert!(!mail.subject.chars().any(char::is_control), "{:?}", mail.subject);
    let tags = |mail: &Mail| mail.html.replace("<br>", "").matches('<').count();
    assert_eq!(tags(mail), tags(plain), "{}", mail.html);
    assert_eq!(mail.html.matches('"').count(), plain.html.matches('"').count(), "{}", mail.html);
    assert!(
        !mail.text.contains("hunter2") && !mail.html.contains("hunter2") && !mail.subject.contains("hunter2")
    );
}

proptest! {
    #[test]
    fn hostile_text_is_plain_text_in_every_provider(
        pieces in prop::collection::vec(0..PIECES.len(), 1..12), often in 1..20_usize, over in any::<bool>(),
    ) {
        let text: String = pieces.iter().map(|piece| PIECES[*piece]).collect::<String>().repeat(often);
        let message = message(&text, if over { MessageState::Resolved } else { MessageState::Firing });
        let [slack, discord, teams, webhook, alertmanager, _] = providers().try_into().unwrap();
        for provider in [&slack, &discord, &teams, &webhook, &alertmanager] {
            check_json(&json(provider, &message));
        }
        check_slack(&json(&slack, &message));
        check_discord(&json(&discord, &message));
        check_teams(&json(&teams, &message));
        let plain = NotificationMessage { state: message.state, ..self::message("plain", message.state) };
        check_mail(&mail(&message), &mail(&plain));
    }
}

#[test]
fn every_provider_says_what_happened_about_what_and_where_to_look() {
    let message = message("edge", MessageState::Firing);
    for provider in providers() {
        let whole = match render(&provider, &message, "d-1") {
            Payload::Json(body) => body.to_string(),
            Payload::Mail(mail) => format!("{}{}{}", mail.subject, mail.text, mail.html),
        };
        for expected in ["edge", "high", "https://windlass.example.com/app/approvals?run=7"] {
            assert!(whole.contains(expected), "{expected}: {whole}");
        }
    }
}

#[test]
fn what_is_over_ends_the_alert_with_the_same_labels() {
    let alertmanager = &providers()[4];
    let began = json(alertmanager, &message("edge", MessageState::Firing));
    let ended = json(alertmanager, &message("edge", MessageState::Resolved));
    assert_eq!(began[0]["labels"], ended[0]["labels"]);
    assert_eq!(began[0]["labels"]["alertname"], "windlass.gitops.edge");
    assert!(began[0].get("endsAt").is_none());
    assert_eq!(ended[0]["endsAt"], "2025-11-16T00:00:00.000Z");
}

#[test]
fn a_webhook_gets_everything_there_is_to_tell() {
    let body = json(&providers()[3], &message("edge", MessageState::Firing));
    assert_eq!(body["delivery_id"], "d-1");
    assert_eq!(body["event"]["seq"], 7);
    assert_eq!(body["event"]["resource"], serde_json::json!({"kind": "edge", "name": "edge"}));
    assert_eq!(body["state"], "firing");
}
