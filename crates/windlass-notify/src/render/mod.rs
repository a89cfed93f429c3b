//! A message in each provider's words. One file per provider; each says how it keeps foreign text from being markup.

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

/// What is sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// The body of a request.
    Json(Value),
    /// A mail.
    Mail(Mail),
}

/// The message as this provider takes it. `delivery` stays the same over all attempts.
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
