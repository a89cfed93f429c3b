//! Who may approve in an account. An approval counts only as long as whoever gave it may give one.

use std::collections::BTreeSet;

use super::contributor::same_person_key;

/// The people who may approve in an account now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvers(BTreeSet<String>);

impl Approvers {
    /// Whether this person is one of them.
    pub fn include(&self, person: &str) -> bool {
        self.0.contains(&same_person_key(person))
    }
}

impl<'a> FromIterator<&'a str> for Approvers {
    fn from_iter<I: IntoIterator<Item = &'a str>>(people: I) -> Approvers {
        let named = people.into_iter().map(same_person_key);
        Approvers(named.filter(|person| !person.is_empty()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_known_whatever_the_case_of_their_address_and_nobody_is_nobody() {
        let approvers: Approvers = ["Ann@Example.com", " "].into_iter().collect();
        assert!(approvers.include(" ann@example.COM "));
        assert!(!approvers.include("bob@example.com"));
        assert!(!approvers.include(""));
        assert!(!Approvers::default().include("ann@example.com"));
    }
}
