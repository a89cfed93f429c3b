//! One file per page: the model, and the methods of its template.

pub mod adopt;
pub mod approvals;
pub mod audit;
pub mod drift;
pub mod edit;
pub mod enrolment;
pub mod events;
pub(crate) mod listing;
pub mod networks;
pub mod node;
pub mod nodes;
pub mod notifications;
pub mod overview;
pub mod preview;
pub mod proposal;
pub(crate) mod rendered_state;
pub mod repositories;
pub mod repository;
pub mod repository_form;
pub mod resource;
pub mod resources;
pub mod rollout;
mod rollout_progress;
pub mod rollouts;
pub mod run;
pub mod runs;
pub mod settings;
pub mod sign_in;
mod steps;
pub mod topology;

/// Whether the user may do something now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// They may.
    Yes,
    /// They may not, for this reason.
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
