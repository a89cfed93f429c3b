//! Everyone who had a hand in a change. Where a rule says `not_author`, none of them can approve it.

/// People of one change beyond this number are not kept: more commits than anybody reviews at once.
pub const MAX_CONTRIBUTORS: usize = 200;

/// Someone who had a hand in a change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contributor {
    /// In which role.
    pub role: ContributorRole,
    /// Their e-mail address; a forge's login where it tells no address.
    pub person: String,
}

/// How someone had a hand in a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContributorRole {
    /// Wrote a commit.
    Author,
    /// Made a commit of what someone wrote.
    Committer,
    /// Is named as a co-author in a commit's message.
    CoAuthor,
    /// Signed the commit.
    Signer,
    /// Pushed the commit, as the forge's webhook says.
    Pusher,
    /// Edited the proposal.
    Editor,
    /// Changed the resource directly.
    Writer,
}

impl ContributorRole {
    /// Every role.
    pub const ALL: &'static [ContributorRole] = &[
        ContributorRole::Author,
        ContributorRole::Committer,
        ContributorRole::CoAuthor,
        ContributorRole::Signer,
        ContributorRole::Pusher,
        ContributorRole::Editor,
        ContributorRole::Writer,
    ];

    /// The spelling in the API and the database.
    pub const fn slug(self) -> &'static str {
        match self {
            ContributorRole::Author => "author",
            ContributorRole::Committer => "committer",
            ContributorRole::CoAuthor => "co_author",
            ContributorRole::Signer => "signer",
            ContributorRole::Pusher => "pusher",
            ContributorRole::Editor => "editor",
            ContributorRole::Writer => "writer",
        }
    }

    /// The role of this spelling.
    pub fn from_slug(slug: &str) -> Option<ContributorRole> {
        ContributorRole::ALL.iter().copied().find(|role| role.slug() == slug)
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

/// Adds contributors that are not in the list yet, up to [`MAX_CONTRIBUTORS`].
pub fn add_contributors(list: &mut Vec<Contributor>, more: impl IntoIterator<Item = Contributor>) {
    for contributor in more {
        if list.len() >= MAX_CONTRIBUTORS {
            return;
        }
        if !list.contains(&contributor) {
            list.push(contributor);
        }
    }
}

/// Addresses are compared as mail providers do: letter case never tells two people apart.
pub(super) fn is_same_person(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
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
    fn nobody_is_listed_twice_in_a_role_and_the_list_is_bounded() {
        let of = |number: usize| {
            Contributor::new(ContributorRole::Author, &format!("{number}@example.com")).into_iter()
        };
        let mut list = Vec::new();
        add_contributors(&mut list, of(1).chain(of(1)).chain(of(2)));
        assert_eq!(list.len(), 2);
        add_contributors(&mut list, (0..1000).flat_map(of));
        assert_eq!(list.len(), MAX_CONTRIBUTORS);
        assert_eq!(Contributor::new(ContributorRole::Author, "  "), None);
    }
}
