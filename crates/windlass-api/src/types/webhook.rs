//! Webhooks of repositories: what a forge is told, and what it is answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::forge::WebhookSender;

use crate::word::Word;

/// The outcome of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    /// Windlass syncs the repository now.
    Accepted,
    /// A duplicate: the server ignored it.
    Duplicate,
    /// The server does not use this event.
    Ignored,
}

/// The response to a correctly signed delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookAnswer {
    /// The outcome.
    pub status: WebhookStatus,
    /// Why it was ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The webhook of a repository, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookInfo {
    /// The URL for deliveries.
    pub url: String,
    /// The version of the secret, from 1.
    pub generation: i64,
    /// The last accepted delivery.
    pub last_delivery: Option<WebhookReceived>,
    /// The last rejected delivery; of many in a short time, not every one is recorded.
    pub last_refusal: Option<WebhookRefused>,
}

/// An accepted delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookReceived {
    /// When.
    pub at: String,
    /// Who sent it.
    #[schemars(with = "Word<WebhookSender>")]
    pub sender: WebhookSender,
    /// The sender's name for the event.
    pub event: String,
    /// The outcome.
    pub outcome: String,
}

/// A rejected delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookRefused {
    /// When.
    pub at: String,
    /// The sender's network address.
    pub address: String,
    /// The reason.
    pub reason: String,
}

/// A webhook with its secret, for setting it up on a forge.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct WebhookShown {
    /// The webhook.
    pub webhook: WebhookInfo,
    /// The secret that the forge signs with.
    pub secret: String,
    /// The same secret as a GitLab signing token.
    pub signing_token: String,
    /// How to set it up, for each forge.
    pub setup: Vec<WebhookSetup>,
}

/// How to set up a webhook on a forge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookSetup {
    /// Which forge.
    #[schemars(with = "Word<WebhookSender>")]
    pub forge: WebhookSender,
    /// The steps.
    pub how: String,
}
