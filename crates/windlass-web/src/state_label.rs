//! Labels and tones of states. Labels come from the core's tables. Every match is exhaustive, so that a new state
//! cannot lack a tone.

use windlass_core::access::Role;
use windlass_core::code;
use windlass_core::delivery::DeliveryState;
use windlass_core::diff::Action;
use windlass_core::enrolment::JoinState;
use windlass_core::event;
use windlass_core::gate::{ConsentState, ContributorRole};
use windlass_core::proposal::Status;
use windlass_core::report::TargetStatus;
use windlass_core::repository::RepositoryStatus;
use windlass_core::rollout::RolloutStatus;
use windlass_core::run::{Movement, RunStatus};
use windlass_core::value::Lifecycle;

use crate::sentence::title;

/// Something that pages show as a state.
pub(crate) trait StateLabel {
    /// The label.
    fn label(&self) -> String;

    /// The tone, which decides the colour.
    fn tone(&self) -> &'static str {
        "calm"
    }
}

impl<T: StateLabel + ?Sized> StateLabel for &T {
    fn label(&self) -> String {
        (**self).label()
    }

    fn tone(&self) -> &'static str {
        (**self).tone()
    }
}

/// A word without a table, such as the outcome in an audit entry, is shown as it was written.
impl StateLabel for str {
    fn label(&self) -> String {
        title(self)
    }

    fn tone(&self) -> &'static str {
        use windlass_core::audit::Outcome;
        match Outcome::from_slug(self) {
            Some(Outcome::Done) => "good",
            Some(Outcome::Refused | Outcome::Failed) => "bad",
            None => "calm",
        }
    }
}

impl StateLabel for String {
    fn label(&self) -> String {
        self.as_str().label()
    }

    fn tone(&self) -> &'static str {
        self.as_str().tone()
    }
}

impl StateLabel for Status {
    fn label(&self) -> String {
        Status::label(*self).to_owned()
    }

    fn tone(&self) -> &'static str {
        match self {
            Status::Applied | Status::AppliedManually => "good",
            Status::PendingApproval => "warn",
            Status::Failed | Status::Rejected | Status::Expired => "bad",
            Status::Approved => "busy",
            Status::Superseded | Status::Withdrawn => "calm",
        }
    }
}

impl StateLabel for RunStatus {
    fn label(&self) -> String {
        RunStatus::label(*self).to_owned()
    }

    fn tone(&self) -> &'static str {
        match self {
            RunStatus::Success | RunStatus::Applied | RunStatus::AppliedManually => "good",
            RunStatus::DiffReady | RunStatus::Partial => "warn",
            RunStatus::Failed => "bad",
            RunStatus::InProgress => "busy",
        }
    }
}

impl StateLabel for RolloutStatus {
    fn label(&self) -> String {
        RolloutStatus::label(*self).to_owned()
    }

    fn tone(&self) -> &'static str {
        match self {
            RolloutStatus::Completed => "good",
            RolloutStatus::Running | RolloutStatus::Promoted => "busy",
            RolloutStatus::Paused => "warn",
            RolloutStatus::Stopped | RolloutStatus::Aborted => "bad",
            RolloutStatus::Superseded => "calm",
        }
    }
}

impl StateLabel for RepositoryStatus {
    fn label(&self) -> String {
        RepositoryStatus::label(*self).to_owned()
    }

    fn tone(&self) -> &'static str {
        match self {
            RepositoryStatus::Ok => "good",
            RepositoryStatus::Failed => "bad",
            RepositoryStatus::Syncing => "busy",
            RepositoryStatus::Disabled | RepositoryStatus::Quarantined => "calm",
        }
    }
}

impl StateLabel for TargetStatus {
    fn label(&self) -> String {
        TargetStatus::label(*self).to_owned()
    }

    fn tone(&self) -> &'static str {
        match self {
            TargetStatus::InSync => "good",
            TargetStatus::Applying => "busy",
            TargetStatus::Unknown => "calm",
            TargetStatus::Offline | TargetStatus::Drifted => "warn",
            TargetStatus::Failed => "bad",
        }
    }
}

impl StateLabel for DeliveryState {
    fn label(&self) -> String {
        DeliveryState::label(*self).to_owned()
    }

    fn tone(&self) -> &'static str {
        match self {
            DeliveryState::Sent => "good",
            DeliveryState::Pending => "warn",
            DeliveryState::Failed => "bad",
            DeliveryState::Suppressed => "calm",
        }
    }
}

impl StateLabel for ConsentState {
    fn label(&self) -> String {
        title(self.slug())
    }

    fn tone(&self) -> &'static str {
        match self {
            ConsentState::Granted => "good",
            ConsentState::Needed => "warn",
            ConsentState::Refused => "bad",
        }
    }
}

impl StateLabel for event::Severity {
    fn label(&self) -> String {
        title(self.slug())
    }

    fn tone(&self) -> &'static str {
        match self {
            event::Severity::Critical | event::Severity::High => "bad",
            event::Severity::Medium => "warn",
            event::Severity::Low => "calm",
        }
    }
}

impl StateLabel for code::ProblemSeverity {
    fn label(&self) -> String {
        title(self.slug())
    }
}

impl StateLabel for Lifecycle {
    fn label(&self) -> String {
        title(self.word())
    }

    fn tone(&self) -> &'static str {
        match self {
            Lifecycle::Live => "good",
            Lifecycle::Staging | Lifecycle::Blessed => "busy",
            Lifecycle::Built | Lifecycle::Retired => "calm",
        }
    }
}

impl StateLabel for JoinState {
    fn label(&self) -> String {
        title(self.slug())
    }

    fn tone(&self) -> &'static str {
        match self {
            JoinState::Pending => "warn",
            JoinState::Approved => "busy",
            JoinState::Rejected => "bad",
            JoinState::Joined => "good",
        }
    }
}

impl StateLabel for ContributorRole {
    fn label(&self) -> String {
        title(self.slug())
    }
}

impl StateLabel for Role {
    fn label(&self) -> String {
        Role::label(*self).to_owned()
    }
}

impl StateLabel for Movement {
    fn label(&self) -> String {
        Movement::label(*self).to_owned()
    }
}

impl StateLabel for Action {
    fn label(&self) -> String {
        title(self.word())
    }
}
