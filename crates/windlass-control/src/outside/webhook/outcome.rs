//! The outcome of a webhook delivery.

/// The outcome of a webhook delivery with a valid signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// It triggered a sync or a preview.
    Accepted,
    /// It was received before.
    Duplicate,
    /// It triggers nothing; the text is the reason.
    Ignored(String),
}

impl DeliveryOutcome {
    /// The spelling in metrics.
    pub(crate) fn slug(&self) -> &'static str {
        match self {
            DeliveryOutcome::Accepted => "accepted",
            DeliveryOutcome::Duplicate => "duplicate",
            DeliveryOutcome::Ignored(_) => "ignored",
        }
    }
}
