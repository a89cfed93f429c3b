//! What became of a delivery.

/// What became of a delivery that was signed rightly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// Windlass looks at the repository.
    Accepted,
    /// It came before.
    Duplicate,
    /// It is of no use here, and why.
    Ignored(String),
}

impl DeliveryOutcome {
    /// The spelling in numbers.
    pub(crate) fn slug(&self) -> &'static str {
        match self {
            DeliveryOutcome::Accepted => "accepted",
            DeliveryOutcome::Duplicate => "duplicate",
            DeliveryOutcome::Ignored(_) => "ignored",
        }
    }
}
