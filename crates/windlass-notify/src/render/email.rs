//! Mail: a subject on one line, the text, and the same as HTML with all untrusted text escaped.

use crate::message::NotificationMessage;
use crate::sanitize::{LONG, SHORT, html, line, lines};

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
    let title = line(&message.title(), 100);
    let body = lines(&message.text, LONG);
    let facts: Vec<(&str, String)> =
        message.facts().into_iter().map(|(name, value)| (name, line(&value, SHORT))).collect();
    let mut text = format!("{body}\n\n");
    let mut rows = String::new();
    for (name, value) in &facts {
        text.push_str(&format!("{name}: {value}\n"));
        rows.push_str(&format!("<tr><th align=\"left\">{name}</th><td>{}</td></tr>", html(value)));
    }
    let mut link = String::new();
    if let Some(address) = &message.link {
        text.push_str(&format!("\n{address}\n"));
        link = format!("<p><a href=\"{}\">Open in Windlass</a></p>", html(address));
    }
    let html = format!(
        "<!doctype html><html><body><h2>{}</h2><p>{}</p><table>{rows}</table>{link}</body></html>",
        html(&title),
        html(&body).replace('\n', "<br>")
    );
    Mail { subject: line(&format!("[Windlass] {title}: {}", message.text), 150), text, html }
}
