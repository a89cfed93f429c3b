//! How long a role holds.

use std::time::Duration;

use crate::states::states;
use crate::time::Timestamp;

states! {
    /// Where a membership of an account comes from.
    MembershipOrigin {
        /// Someone gave it; only someone takes it.
        Hand "hand",
        /// Their groups gave it, and take it.
        Groups "groups",
    }
}

/// Where someone's role in an account comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleSource {
    /// Someone gave it, and it holds until someone takes it.
    Manual,
    /// Their groups at the provider of single sign-on gave it.
    Groups {
        /// When the provider last said so.
        proved_at: Timestamp,
    },
}

impl RoleSource {
    /// Whether the role holds now. What groups give holds as long as a session lasts: the provider says who is in a group
    /// only when someone signs in, so whoever lost a group keeps nothing longer than that, neither by sessions nor by API
    /// tokens.
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
