//! Differences: machines and clusters that differ from the accepted state, and accepted state that differs from git
//! (manual change, pending approval, accepted drift), with the actions for each.

use askama::Template;
use windlass_api::permission::Permission;
use windlass_api::types::{DriftItem, NodeDriftItem};
use windlass_core::diff::Action;
use windlass_core::report::TargetStatus;

use super::Allowed;
use super::node::NodeActions;
use crate::frame::{Frame, NavEntry};
use crate::{content, link, words};

/// The kind of difference that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriftTab {
    /// A machine or a cluster differs from the accepted state.
    Drifted,
    /// Someone changed the accepted state manually.
    #[default]
    ManualChange,
    /// Git changed and nobody has approved it yet.
    Pending,
    /// Someone accepted the difference.
    AcceptedDrift,
}

impl DriftTab {
    /// All tabs, in order.
    pub const ALL: [DriftTab; 4] =
        [DriftTab::Drifted, DriftTab::ManualChange, DriftTab::Pending, DriftTab::AcceptedDrift];

    /// The spelling in URLs.
    pub const fn slug(self) -> &'static str {
        match self {
            DriftTab::Drifted => "drifted",
            DriftTab::ManualChange => "",
            DriftTab::Pending => "pending",
            DriftTab::AcceptedDrift => "accepted",
        }
    }

    /// The tab with this spelling; manual changes for anything else.
    pub fn of(word: &str) -> DriftTab {
        DriftTab::ALL.into_iter().find(|sort| sort.slug() == word).unwrap_or_default()
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            DriftTab::Drifted => "Drifted",
            DriftTab::ManualChange => "Manual changes",
            DriftTab::Pending => "Pending",
            DriftTab::AcceptedDrift => "Accepted",
        }
    }
}

/// A difference, with its repository.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftCard {
    /// The repository's id.
    pub repository_id: String,
    /// The repository's name.
    pub repository_name: String,
    /// The difference.
    pub item: DriftItem,
}

/// A machine or a cluster that differs from the accepted state.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftedTarget {
    /// `node` or `cluster`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What its agent observed, in words.
    pub seen: String,
    /// The time since when it has differed, if `seen` does not say it.
    pub since: Option<String>,
    /// Its status.
    pub state: TargetStatus,
    /// Its status, with the last known one while it is offline.
    pub summary: String,
    /// The first of its items that differ and that nobody accepted; only nodes have items.
    pub items: Vec<NodeDriftItem>,
    /// How many more items differ.
    pub more_items: u64,
}

impl DriftedTarget {
    pub(crate) fn url(&self) -> String {
        if self.is_node() { link::node(&self.name) } else { link::resource(&self.kind, &self.name) }
    }

    pub(crate) fn is_node(&self) -> bool {
        self.kind == "node"
    }
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "drift.html")]
pub struct DriftPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The tab that is shown.
    pub sort: DriftTab,
    /// The number of differences of each tab, in the order of [`DriftTab::ALL`].
    pub counts: [usize; 4],
    /// The repositories: id and name.
    pub repositories: Vec<(String, String)>,
    /// The id of the repository that is shown; empty for all.
    pub repository: String,
    /// The drifted machines and clusters, if the tab shows them.
    pub targets: Vec<DriftedTarget>,
    /// The differences from git, if the tab shows them.
    pub differences: Vec<DriftCard>,
    /// Where the list goes on.
    pub next: Option<String>,
    /// The URL of this page, to return to.
    pub here: String,
}

impl DriftCard {
    pub(crate) fn url(&self) -> Option<String> {
        (self.item.change != Action::Create).then(|| link::resource(&self.item.kind, &self.item.name))
    }
}

impl DriftPage {
    pub(crate) fn tabs(&self) -> Vec<(DriftTab, usize, String)> {
        let url = |sort: DriftTab| {
            link::with_query("/app/drift", &[("show", sort.slug()), ("repository", &self.repository)])
        };
        DriftTab::ALL.into_iter().zip(self.counts).map(|(sort, count)| (sort, count, url(sort))).collect()
    }

    /// The difference in words.
    pub(crate) fn difference_text(&self, difference: &DriftCard) -> &'static str {
        match (self.sort, difference.item.change) {
            (DriftTab::Pending, Action::Create) => "in git, not applied yet",
            (DriftTab::Pending, Action::Destroy) => "removed from git, not applied yet",
            (DriftTab::Pending, Action::Update) => "changed in git, not applied yet",
            (_, Action::Create) => "in git, deleted manually",
            (_, Action::Destroy) => "not in git",
            (_, Action::Update) => "differs from git",
        }
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.sort == DriftTab::Pending
    }

    pub(crate) fn is_manual_change(&self) -> bool {
        self.sort == DriftTab::ManualChange
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.differences.is_empty()
    }

    pub(crate) fn has_no_differences(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    pub(crate) fn node_actions(&self) -> NodeActions {
        NodeActions::of(&self.frame)
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

    /// Why some buttons are disabled.
    pub(crate) fn disabled_reasons(&self) -> Vec<(&'static str, String)> {
        let each =
            [("Revert", self.may_revert()), ("Adopt", self.may_adopt()), ("Accept", self.may_accept())];
        each.into_iter().filter_map(|(what, may)| Some((what, may.reason()?.to_owned()))).collect()
    }
}
