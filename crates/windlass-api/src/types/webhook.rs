//! Webhooks of repositories: what a forge is told, and what it is answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::forge::WebhookSender;

use crate::word::Word;

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    /// Windlass looks at the repository now.
    Accepted,
    /// It came before, and nothing was done again.
    Duplicate,
    /// It is of no use here.
    Ignored,
}

/// What a delivery that was signed rightly is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookAnswer {
    /// What became of it.
    pub status: WebhookStatus,
    /// Why it was ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The webhook of a repository, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookInfo {
    /// Where deliveries are sent.
    pub url: String,
    /// How often the secret was replaced, counted from 1.
    pub generation: i64,
    /// The last delivery that was signed rightly.
    pub last_delivery: Option<WebhookReceived>,
    /// The last one that was not, roughly: not each of many is noted.
    pub last_refusal: Option<WebhookRefused>,
}

/// A delivery that was signed rightly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookReceived {
    /// When.
    pub at: String,
    /// Who sent it.
    #[schemars(with = "Word<WebhookSender>")]
    pub sender: WebhookSender,
    /// What its sender calls the event.
    pub event: String,
    /// What was made of it.
    pub outcome: String,
}

/// A delivery that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookRefused {
    /// When.
    pub at: String,
    /// The address it came from.
    pub address: String,
    /// Why.
    pub reason: String,
}

/// A webhook with its secret, for those who set it up at a forge.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct WebhookShown {
    /// The webhook.
    pub webhook: WebhookInfo,
    /// What the forge signs with.
    pub secret: String,
    /// The same secret in the spelling of GitLab's signing tokens.
    pub signing_token: String,
    /// How to set it up, forge by forge.
    pub setup: Vec<WebhookSetup>,
}

/// How to set a webhook up at a forge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookSetup {
    /// Which forge.
    #[schemars(with = "Word<WebhookSender>")]
    pub forge: WebhookSender,
    /// Where to go and what to fill in.
    pub how: String,
}
