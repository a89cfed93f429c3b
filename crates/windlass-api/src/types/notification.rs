//! Notifications: tests of providers, and the log of deliveries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::delivery::DeliveryState;

use crate::word::Word;

/// What came of a test message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderTest {
    /// Whether the receiver took it.
    pub ok: bool,
    /// What happened, in words.
    pub message: String,
    /// Its entry in the log of deliveries; receivers see it as `X-Windlass-Delivery`.
    pub delivery_id: String,
}

/// A notification for one provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryInfo {
    /// Its id, the same over all attempts; receivers see it as `X-Windlass-Delivery`.
    pub id: String,
    /// The alert that tells it; none for a test or a digest.
    pub alert: Option<String>,
    /// The provider it goes through.
    pub provider: String,
    /// The number of the event; none for a test or a digest.
    pub event_seq: Option<i64>,
    /// The kind of the event.
    pub event_kind: String,
    /// What is told, in one line.
    pub message: String,
    /// What became of it so far.
    #[schemars(with = "Word<DeliveryState>")]
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: i64,
    /// How often the same happened again soon after, and was not told.
    pub repeats: i64,
    /// When it is tried next, if it is.
    pub next_at: Option<String>,
    /// Why the last try failed.
    pub last_error: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// When it arrived or was given up.
    pub finished_at: Option<String>,
}

/// One of them.
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
    /// Where the list goes on.
    pub meta: super::PageMeta,
}
