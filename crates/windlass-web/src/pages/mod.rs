//! One file per page: the model, and what the template asks of it.

pub mod approvals;
pub mod audit;
pub mod edit;
pub mod entrance;
pub mod events;
pub mod overview;
pub mod proposal;
pub mod repositories;
pub mod run;
pub mod runs;

/// Whether someone may do something now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// They may.
    Yes,
    /// They may not, because.
    No(String),
}

impl Allowed {
    /// Allowed if there is no reason against it.
    pub fn unless(reason: Option<String>) -> Allowed {
        reason.map_or(Allowed::Yes, Allowed::No)
    }

    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Allowed::Yes => None,
            Allowed::No(reason) => Some(reason),
        }
    }
}
