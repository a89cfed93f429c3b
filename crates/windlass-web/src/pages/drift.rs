//! How the accepted state differs from git: changed by hand, waiting for approval, accepted; and what to do about each.

use askama::Template;
use windlass_api::permission::Permission;
use windlass_api::types::DriftItem;

use super::Allowed;
use crate::frame::{Frame, Place};
use crate::{link, words};

/// Which differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Someone changed the accepted state.
    #[default]
    ByHand,
    /// Git moved and nobody approved it yet.
    Pending,
    /// Someone said that they are meant.
    Accepted,
}

impl Sort {
    /// Each.
    pub const ALL: [Sort; 3] = [Sort::ByHand, Sort::Pending, Sort::Accepted];

    /// The spelling in addresses.
    pub const fn slug(self) -> &'static str {
        match self {
            Sort::ByHand => "",
            Sort::Pending => "pending",
            Sort::Accepted => "accepted",
        }
    }

    /// The sort of this spelling; changes by hand for anything else.
    pub fn of(word: &str) -> Sort {
        Sort::ALL.into_iter().find(|sort| sort.slug() == word).unwrap_or_default()
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Sort::ByHand => "Manual changes",
            Sort::Pending => "Pending",
            Sort::Accepted => "Accepted",
        }
    }
}

/// A difference and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The repository's id.
    pub repository_id: String,
    /// The repository's name.
    pub repository_name: String,
    /// The difference.
    pub item: DriftItem,
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "drift.html")]
pub struct Drift {
    /// What surrounds it.
    pub frame: Frame,
    /// Which differences it shows.
    pub sort: Sort,
    /// How many there are of each sort, in the order of [`Sort::ALL`].
    pub counts: [usize; 3],
    /// The repositories: id and name.
    pub repositories: Vec<(String, String)>,
    /// The id of the one it is about; otherwise all.
    pub repository: String,
    /// The differences.
    pub differences: Vec<Difference>,
    /// Where the list goes on.
    pub next: Option<String>,
    /// The page's own address, to come back to.
    pub here: String,
}

impl Difference {
    pub(crate) fn url(&self) -> Option<String> {
        (self.item.change != "create").then(|| link::resource(&self.item.kind, &self.item.name))
    }
}

impl Drift {
    pub(crate) fn tabs(&self) -> Vec<(Sort, usize, String)> {
        let url = |sort: Sort| {
            link::with_query("/app/drift", &[("show", sort.slug()), ("repository", &self.repository)])
        };
        Sort::ALL.into_iter().zip(self.counts).map(|(sort, count)| (sort, count, url(sort))).collect()
    }

    /// What happened to it, in words.
    pub(crate) fn told(&self, difference: &Difference) -> &'static str {
        match (self.sort, difference.item.change.as_str()) {
            (Sort::Pending, "create") => "in git, not applied yet",
            (Sort::Pending, "destroy") => "removed from git, not applied yet",
            (Sort::Pending, _) => "changed in git, not applied yet",
            (_, "create") => "in git, deleted manually",
            (_, "destroy") => "not in git",
            _ => "differs from git",
        }
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.sort == Sort::Pending
    }

    pub(crate) fn is_by_hand(&self) -> bool {
        self.sort == Sort::ByHand
    }

    pub(crate) fn agrees(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    pub(crate) fn may_revert(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsSync))
    }

    pub(crate) fn may_adopt(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsWrite))
    }

    pub(crate) fn may_accept(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsApprove))
    }

    /// Why some of the buttons cannot be pressed.
    pub(crate) fn reasons(&self) -> Vec<(&'static str, String)> {
        let each =
            [("Revert", self.may_revert()), ("Adopt", self.may_adopt()), ("Accept", self.may_accept())];
        each.into_iter().filter_map(|(what, may)| Some((what, may.reason()?.to_owned()))).collect()
    }
}
