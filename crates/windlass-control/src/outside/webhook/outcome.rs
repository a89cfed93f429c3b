//! What became of a delivery.

/// What became of a delivery that was signed rightly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Windlass looks at the repository.
    Accepted,
    /// It came before.
    Duplicate,
    /// It is of no use here, and why.
    Ignored(String),
}

impl Outcome {
    /// The spelling in numbers.
    pub(crate) fn slug(&self) -> &'static str {
        match self {
            Outcome::Accepted => "accepted",
            Outcome::Duplicate => "duplicate",
            Outcome::Ignored(_) => "ignored",
        }
    }
}
