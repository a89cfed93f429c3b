//! Mail: a subject on one line, the text, and the same as HTML with all untrusted text escaped.

use crate::message::NotificationMessage;
use crate::sanitize::{MAX_MESSAGE_CHARS, MAX_NAME_CHARS, escape_html, multi_line, single_line};

/// The content of a mail; sender and recipients come from the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// The subject: one line.
    pub subject: String,
    /// The plain-text part.
    pub text: String,
    /// The HTML part.
    pub html: String,
}

pub(super) fn mail(message: &NotificationMessage) -> Mail {
    let title = single_line(&message.title(), 100);
    let body = multi_line(&message.text, MAX_MESSAGE_CHARS);
    let facts: Vec<(&str, String)> = message
        .facts()
        .into_iter()
        .map(|(name, value)| (name, single_line(&value, MAX_NAME_CHARS)))
        .collect();
    let mut text = format!("{body}\n\n");
    let mut rows = String::new();
    for (name, value) in &facts {
        text.push_str(&format!("{name}: {value}\n"));
        rows.push_str(&format!("<tr><th align=\"left\">{name}</th><td>{}</td></tr>", escape_html(value)));
    }
    let mut link = String::new();
    if let Some(address) = &message.link {
        text.push_str(&format!("\n{address}\n"));
        link = format!("<p><a href=\"{}\">Open in Windlass</a></p>", escape_html(address));
    }
    let html = format!(
        "<!doctype html><html><body><h2>{}</h2><p>{}</p><table>{rows}</table>{link}</body></html>",
        escape_html(&title),
        escape_html(&body).replace('\n', "<br>")
    );
    Mail { subject: single_line(&format!("[Windlass] {title}: {}", message.text), 150), text, html }
}
