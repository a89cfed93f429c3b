//! How long a role is valid.

use std::time::Duration;

use crate::states::states;
use crate::time::Timestamp;

states! {
    /// Where a membership of an account comes from.
    MembershipOrigin {
        /// Someone gave it; only someone takes it.
        Manual "hand",
        /// Their groups gave it, and take it.
        Groups "groups",
    }
}

/// The source of a person's role in an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleSource {
    /// Someone assigned it; it is valid until someone removes it.
    Manual,
    /// Groups at the single sign-on provider grant it.
    Groups {
        /// The time of the last sign-in with these groups.
        proved_at: Timestamp,
    },
}

impl RoleSource {
    /// Whether the role is valid now. A role of groups is valid for the length of a session: the provider reports
    /// groups only at sign-in, so a person who left a group loses the role after that time at the latest, in sessions
    /// and in API tokens.
    pub fn is_valid_at(self, now: Timestamp, session: Duration) -> bool {
        match self {
            RoleSource::Manual => true,
            RoleSource::Groups { proved_at } => now < proved_at.plus(session),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_of_groups_ends_a_session_after_it_was_proved_and_one_given_by_hand_does_not() {
        let hours = |number: u64| Duration::from_secs(3600 * number);
        let proved_at = Timestamp::from_millis(1_000);
        let source = RoleSource::Groups { proved_at };
        assert!(source.is_valid_at(proved_at, hours(12)));
        assert!(source.is_valid_at(proved_at.plus(hours(11)), hours(12)));
        assert!(!source.is_valid_at(proved_at.plus(hours(12)), hours(12)));
        assert!(
            !RoleSource::Groups { proved_at: Timestamp::from_millis(0) }
                .is_valid_at(proved_at.plus(hours(12)), hours(12))
        );
        assert!(RoleSource::Manual.is_valid_at(proved_at.plus(hours(10_000)), hours(12)));
    }
}
