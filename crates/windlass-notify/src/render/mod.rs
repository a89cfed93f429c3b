//! Renders a message for each provider. One file per provider; each describes how it keeps untrusted text from being
//! interpreted as markup.

mod alertmanager;
mod discord;
mod email;
mod signed;
mod slack;
mod teams;
mod webhook;

use serde_json::Value;
use windlass_core::resource::{NotificationProviderSpec, ProviderType};

pub use email::Mail;
pub use signed::signature;

use crate::message::NotificationMessage;

/// A rendered message.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// The body of an HTTP request.
    Json(Value),
    /// A mail.
    Mail(Mail),
}

/// Renders a message for a provider. `delivery` is the id of the delivery, the same for all attempts.
pub fn render(provider: &NotificationProviderSpec, message: &NotificationMessage, delivery: &str) -> Payload {
    match provider.provider_type {
        ProviderType::Slack => Payload::Json(slack::body(message, &provider.channel)),
        ProviderType::Discord => Payload::Json(discord::body(message)),
        ProviderType::Teams => Payload::Json(teams::body(message)),
        ProviderType::Webhook => Payload::Json(webhook::body(message, delivery)),
        ProviderType::Alertmanager => Payload::Json(alertmanager::body(message)),
        ProviderType::Email => Payload::Mail(email::mail(message)),
    }
}
