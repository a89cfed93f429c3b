//! Notifications: tests of providers, and the log of deliveries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::delivery::DeliveryState;

use crate::word::Word;

/// The result of a test message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderTest {
    /// Whether the receiver accepted it.
    pub ok: bool,
    /// The result, in words.
    pub message: String,
    /// Its entry in the log of deliveries; receivers see it as `X-Windlass-Delivery`.
    pub delivery_id: String,
}

/// A notification for one provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryInfo {
    /// Its id, the same over all attempts; receivers see it as `X-Windlass-Delivery`.
    pub id: String,
    /// The alert that caused it; none for a test or a digest.
    pub alert: Option<String>,
    /// Its provider.
    pub provider: String,
    /// The number of the event; none for a test or a digest.
    pub event_seq: Option<i64>,
    /// The kind of the event.
    pub event_kind: String,
    /// The message, in one line.
    pub message: String,
    /// Its delivery state.
    #[schemars(with = "Word<DeliveryState>")]
    pub state: DeliveryState,
    /// The number of attempts.
    pub attempts: i64,
    /// How many repetitions of the same event soon after were not sent.
    pub repeats: i64,
    /// When the next attempt is due.
    pub next_at: Option<String>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// When it was created.
    pub created_at: String,
    /// When it was delivered or abandoned.
    pub finished_at: Option<String>,
}

/// A delivery under its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryEnvelope {
    /// The delivery.
    pub notification_delivery: DeliveryInfo,
}

/// Deliveries, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryList {
    /// The deliveries.
    pub notification_deliveries: Vec<DeliveryInfo>,
    /// The next page.
    pub meta: super::PageMeta,
}
