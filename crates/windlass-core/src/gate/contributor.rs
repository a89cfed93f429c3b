//! Everyone who had a hand in a change. Where a rule says `not_author`, none of them can approve it.

use crate::states::states;

/// People whom the commits of one change name. Whoever writes a commit can name anybody, so there is an end to it; a list
/// that ends here says so.
pub const MAX_NAMED: usize = 200;

/// People who pushed the commits of one change, as the forge says. A list that ends here says so.
pub const MAX_PUSHERS: usize = 1000;

/// Someone who had a hand in a change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contributor {
    /// In which role.
    pub role: ContributorRole,
    /// Their e-mail address; a forge's login where it tells no address.
    pub person: String,
}

states! {
    /// How someone contributed to a change.
    ContributorRole {
        /// Wrote a commit.
        Author "author",
        /// Committed a change that someone else wrote.
        Committer "committer",
        /// Is named as a co-author in a commit's message.
        CoAuthor "co_author",
        /// Signed the commit.
        Signer "signer",
        /// Pushed the commit, according to the forge's webhook.
        Pusher "pusher",
        /// Edited the proposal.
        Editor "editor",
        /// Changed the resource directly.
        Writer "writer",
    }
}

impl ContributorRole {
    /// Whether it is a commit's own text that says who is in this role.
    const fn is_named_by_commit(self) -> bool {
        matches!(self, ContributorRole::Author | ContributorRole::Committer | ContributorRole::CoAuthor)
    }

    /// Who someone in this role is, for people.
    pub const fn phrase(self) -> &'static str {
        match self {
            ContributorRole::Author => "the commit's author",
            ContributorRole::Committer => "the commit's committer",
            ContributorRole::CoAuthor => "a co-author of the commit",
            ContributorRole::Signer => "the commit's signer",
            ContributorRole::Pusher => "the person who pushed the commit",
            ContributorRole::Editor => "an editor of the proposal",
            ContributorRole::Writer => "the author of this direct change",
        }
    }
}

impl Contributor {
    /// Someone in a role; nothing if nobody is named.
    pub fn new(role: ContributorRole, person: &str) -> Option<Contributor> {
        let person = person.trim();
        (!person.is_empty()).then(|| Contributor { role, person: person.to_owned() })
    }
}

states! {
    /// Why a list of contributors may lack someone.
    ContributorsGap {
        /// There are more people than are kept.
        TooManyPeople "too_many_people",
        /// The history between the commit that was last made use of and the tip is not known, or too long to follow.
        HistoryNotFollowed "history_not_followed",
        /// The repository reads from elsewhere than before, so that nothing tells which commits are new.
        SourceChanged "source_changed",
    }
}

impl ContributorsGap {
    /// The reason for people.
    pub const fn reason(self) -> &'static str {
        match self {
            ContributorsGap::TooManyPeople => "more people had a hand in it than are kept",
            ContributorsGap::HistoryNotFollowed => {
                "its history could not be followed back to the commit that was read before"
            }
            ContributorsGap::SourceChanged => {
                "the repository's source or signers changed, so that nothing tells which of its commits are new"
            }
        }
    }
}

/// What is unknown of who wrote what a repository declares when there is no commit to follow its history back to. A
/// repository of which nothing was accepted yet is read for the first time: there is nothing that its history could
/// have been followed back to. What a repository declares that owns something has a history, and nobody followed it.
pub const fn unread_history_gap(owned_resources: usize) -> Option<ContributorsGap> {
    match owned_resources {
        0 => None,
        _ => Some(ContributorsGap::SourceChanged),
    }
}

/// Everyone who had a hand in a change, and whether someone may be missing.
///
/// Signers, editors and writers are known for sure and are never left out. Authors, committers and co-authors are whom a
/// commit names, and pushers whom a forge names: each of the two has room of its own, so that neither crowds out the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contributors {
    people: Vec<Contributor>,
    gap: Option<ContributorsGap>,
}

impl Contributors {
    /// A list as it was kept.
    pub fn kept(people: Vec<Contributor>, gap: Option<ContributorsGap>) -> Contributors {
        Contributors { people, gap }
    }

    /// Everyone who is known.
    pub fn people(&self) -> &[Contributor] {
        &self.people
    }

    /// Why someone may be missing; nothing if nobody is.
    pub fn gap(&self) -> Option<ContributorsGap> {
        self.gap
    }

    /// Notes that someone may be missing. What was noted first stays.
    pub fn note_gap(&mut self, gap: ContributorsGap) {
        self.gap.get_or_insert(gap);
    }

    /// Adds who is not in the list yet, as far as there is room for them; notes if there is none.
    pub fn add(&mut self, more: impl IntoIterator<Item = Contributor>) {
        for contributor in more {
            if self.people.contains(&contributor) {
                continue;
            }
            match self.has_room(contributor.role) {
                true => self.people.push(contributor),
                false => self.note_gap(ContributorsGap::TooManyPeople),
            }
        }
    }

    /// Adds everyone of another list, and what is unknown of it.
    pub fn join(&mut self, other: Contributors) {
        self.add(other.people);
        if let Some(gap) = other.gap {
            self.note_gap(gap);
        }
    }

    fn has_room(&self, role: ContributorRole) -> bool {
        let count = |of: fn(ContributorRole) -> bool| self.people.iter().filter(|one| of(one.role)).count();
        match role {
            role if role.is_named_by_commit() => count(ContributorRole::is_named_by_commit) < MAX_NAMED,
            ContributorRole::Pusher => count(|role| role == ContributorRole::Pusher) < MAX_PUSHERS,
            _ => true,
        }
    }
}

impl FromIterator<Contributor> for Contributors {
    fn from_iter<I: IntoIterator<Item = Contributor>>(people: I) -> Contributors {
        let mut list = Contributors::default();
        list.add(people);
        list
    }
}

/// Addresses are compared as mail providers do: letter case never tells two people apart.
pub(super) fn is_same_person(one: &str, other: &str) -> bool {
    same_person_key(one) == same_person_key(other)
}

/// What is the same for two spellings of one address.
pub(super) fn same_person_key(person: &str) -> String {
    person.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_one_spelling_that_leads_back_to_it() {
        for role in ContributorRole::ALL {
            assert_eq!(ContributorRole::from_slug(role.slug()), Some(*role));
        }
    }

    #[test]
    fn every_gap_has_one_spelling_that_leads_back_to_it() {
        for gap in ContributorsGap::ALL {
            assert_eq!(ContributorsGap::from_slug(gap.slug()), Some(*gap));
        }
    }

    fn many(role: ContributorRole, count: usize) -> impl Iterator<Item = Contributor> {
        (0..count).filter_map(move |number| Contributor::new(role, &format!("{number}@example.com")))
    }

    #[test]
    fn nobody_is_listed_twice_in_a_role_and_a_truncated_list_is_marked() {
        let mut list: Contributors =
            many(ContributorRole::Author, 2).chain(many(ContributorRole::Author, 2)).collect();
        assert_eq!((list.people().len(), list.gap()), (2, None));
        list.add(many(ContributorRole::Author, MAX_NAMED));
        assert_eq!((list.people().len(), list.gap()), (MAX_NAMED, None));
        list.add(many(ContributorRole::CoAuthor, 1));
        assert_eq!((list.people().len(), list.gap()), (MAX_NAMED, Some(ContributorsGap::TooManyPeople)));
        assert_eq!(Contributor::new(ContributorRole::Author, "  "), None);
    }

    #[test]
    fn signers_pushers_editors_and_writers_are_never_dropped_from_the_list() {
        let mut list: Contributors = many(ContributorRole::CoAuthor, 10 * MAX_NAMED).collect();
        list.add(many(ContributorRole::Pusher, 2 * MAX_PUSHERS));
        let sure = [ContributorRole::Signer, ContributorRole::Editor, ContributorRole::Writer];
        for role in sure {
            list.add(Contributor::new(role, "eve@example.com"));
            let is_listed =
                list.people().iter().any(|one| one.role == role && one.person == "eve@example.com");
            assert!(is_listed, "{role:?}");
        }
        assert!(list.people().len() <= MAX_NAMED + MAX_PUSHERS + sure.len());
        let mut named: Contributors = many(ContributorRole::CoAuthor, 10 * MAX_NAMED).collect();
        named.add(Contributor::new(ContributorRole::Pusher, "eve@example.com"));
        assert!(named.people().iter().any(|one| one.role == ContributorRole::Pusher));
    }

    #[test]
    fn what_is_unknown_of_one_list_is_unknown_of_all_that_it_joins() {
        let cut = Contributors::kept(Vec::new(), Some(ContributorsGap::HistoryNotFollowed));
        let mut list: Contributors = many(ContributorRole::Author, 1).collect();
        list.join(cut);
        assert_eq!((list.people().len(), list.gap()), (1, Some(ContributorsGap::HistoryNotFollowed)));
        list.note_gap(ContributorsGap::SourceChanged);
        assert_eq!(list.gap(), Some(ContributorsGap::HistoryNotFollowed));
    }

    #[test]
    fn only_a_repository_of_which_nothing_was_accepted_is_read_for_the_first_time() {
        assert_eq!(unread_history_gap(0), None);
        assert_eq!(unread_history_gap(1), Some(ContributorsGap::SourceChanged));
    }
}
