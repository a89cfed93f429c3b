//! When a target went offline or came back: announced once for each change.

use std::time::Duration;

use super::ContactState;
use crate::observed::LastContact;
use crate::states::states;
use crate::time::Timestamp;

states! {
    /// What was last announced of an agent's contact.
    AnnouncedContact {
        /// It is in contact.
        Online "online",
        /// It is out of contact.
        Offline "offline",
    }
}

/// What to store about an agent's contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactChange {
    /// Store it; it is no news: the first contact after enrolment is announced by other events.
    Note(AnnouncedContact),
    /// Store it, and announce it.
    Announce(AnnouncedContact),
}

/// Whether an agent is in contact.
///
/// A contact in the future by more than the limit does not count either: one of the clocks was wrong, and treating it as
/// recent would hide a lost target until that time.
pub fn contact_state(last_contact: LastContact, offline_after: Duration, now: Timestamp) -> ContactState {
    let LastContact::At(contact) = last_contact else { return ContactState::Never };
    let distance = now.elapsed_since(contact).max(contact.elapsed_since(now));
    if distance > offline_after { ContactState::Lost { since: contact } } else { ContactState::Current }
}

/// What changed since the last announcement.
pub fn contact_change(announced: Option<AnnouncedContact>, contact: ContactState) -> Option<ContactChange> {
    use AnnouncedContact::{Offline, Online};
    match (announced, contact) {
        (None, ContactState::Current) => Some(ContactChange::Note(Online)),
        (None | Some(Online), ContactState::Lost { .. }) => Some(ContactChange::Announce(Offline)),
        (Some(Offline), ContactState::Current) => Some(ContactChange::Announce(Online)),
        (_, ContactState::Never)
        | (Some(Online), ContactState::Current)
        | (Some(Offline), ContactState::Lost { .. }) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lost() -> ContactState {
        ContactState::Lost { since: Timestamp::from_millis(0) }
    }

    #[test]
    fn a_change_of_contact_is_announced_once() {
        use AnnouncedContact::{Offline, Online};
        use ContactChange::{Announce, Note};
        for (announced, contact, expected) in [
            (None, ContactState::Never, None),
            (None, ContactState::Current, Some(Note(Online))),
            (None, lost(), Some(Announce(Offline))),
            (Some(Online), ContactState::Current, None),
            (Some(Online), lost(), Some(Announce(Offline))),
            (Some(Offline), lost(), None),
            (Some(Offline), ContactState::Current, Some(Announce(Online))),
            (Some(Offline), ContactState::Never, None),
        ] {
            assert_eq!(contact_change(announced, contact), expected, "{announced:?} {contact:?}");
        }
    }

    proptest! {
        #[test]
        fn after_a_change_is_stored_the_same_contact_is_no_news(is_lost in any::<bool>(), known in 0..3_u8) {
            let contact = if is_lost { lost() } else { ContactState::Current };
            let known = [None, Some(AnnouncedContact::Online), Some(AnnouncedContact::Offline)][usize::from(known)];
            let stored = match contact_change(known, contact) {
                Some(ContactChange::Note(stored) | ContactChange::Announce(stored)) => Some(stored),
                None => known,
            };
            prop_assert_eq!(contact_change(stored, contact), None);
        }
    }
}
