//! Sets of a plan that are approved as one: the whole plan, or a group of identical changes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::diff::Cause;
use crate::digest::Digest;
use crate::resource::Kind;
use crate::states::states;

/// How many names of a set are kept for display.
pub(super) const NAMES_KEPT: usize = 5;

/// Which changes of a plan belong to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetScope {
    /// All changes.
    Plan,
    /// Identical changes, by their signature.
    Group(Digest),
}

states! {
    /// Whether a set is a whole plan or a group of it.
    SetKind as ChangeSetScope {
        /// Every change of the plan.
        Plan "plan",
        /// Those that make the same change.
        Group "group",
    }
}

impl SetScope {
    /// Whether it is a whole plan or a group.
    pub const fn kind(self) -> SetKind {
        match self {
            SetScope::Plan => SetKind::Plan,
            SetScope::Group(_) => SetKind::Group,
        }
    }

    /// Whether a change with this signature belongs to the set.
    pub fn includes(self, signature: Option<Digest>) -> bool {
        match self {
            SetScope::Plan => true,
            SetScope::Group(wanted) => signature == Some(wanted),
        }
    }

    /// The digest of the set with these members, each by the digest that its approval is bound to. The order of the
    /// members does not matter.
    pub fn digest(self, members: impl IntoIterator<Item = Digest>) -> Digest {
        let mut members: Vec<Digest> = members.into_iter().collect();
        members.sort_unstable();
        members.dedup();
        let signature = match self {
            SetScope::Plan => None,
            SetScope::Group(signature) => Some(signature),
        };
        let head = ["windlass-approval-set-1".as_bytes(), self.kind().slug().as_bytes()];
        let signature = signature.as_ref().map(Digest::as_bytes);
        Digest::of_parts(head.into_iter().chain(signature).chain(members.iter().map(Digest::as_bytes)))
    }
}

/// A set of a stored plan, for display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// Which changes belong to it.
    pub scope: SetScope,
    /// The digest that an approval names.
    pub digest: Digest,
    /// The common kind of all members; `None` for a whole plan.
    pub kind: Option<Kind>,
    /// The common cause of all members; `None` for a whole plan.
    pub cause: Option<Cause>,
    /// The number of changes.
    pub count: usize,
    /// The number of destroys among them.
    pub destroys: usize,
    /// The first names, in the order of the plan.
    pub names: Vec<String>,
}

/// Why an approval of a set lapses because a newer plan has other members; `None` if it still counts. Members that were
/// applied as approved are not a difference.
pub fn why_set_approval_lapses(
    approved: &BTreeSet<Digest>,
    applied: &BTreeSet<Digest>,
    now: &BTreeSet<Digest>,
) -> Option<String> {
    let expected: BTreeSet<Digest> = approved.difference(applied).copied().collect();
    let (more, less) = (now.difference(&expected).count(), expected.difference(now).count());
    let changes = |count: usize| match count {
        1 => "1 change".to_owned(),
        many => format!("{many} changes"),
    };
    match (more, less) {
        (0, 0) => None,
        (more, 0) => Some(format!("a newer plan has {} that the approved set did not have", changes(more))),
        (0, less) => Some(format!("a newer plan lacks {} of the approved set", changes(less))),
        (more, less) => Some(format!(
            "a newer plan has {} that the approved set did not have, and lacks {} of it",
            changes(more),
            changes(less)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(words: &[&str]) -> BTreeSet<Digest> {
        words.iter().map(|word| Digest::of(word.as_bytes())).collect()
    }

    #[test]
    fn a_set_falls_with_one_member_more_less_or_other_and_not_because_of_what_was_applied() {
        let why = |approved: &[&str], applied: &[&str], now: &[&str]| {
            why_set_approval_lapses(&members(approved), &members(applied), &members(now))
        };
        assert_eq!(why(&["a", "b"], &[], &["a", "b"]), None);
        assert_eq!(why(&["a", "b"], &["a"], &["b"]), None);
        assert_eq!(why(&["a"], &["a"], &[]), None);
        let one_more = why(&["a"], &[], &["a", "b"]);
        assert_eq!(one_more.as_deref(), Some("a newer plan has 1 change that the approved set did not have"));
        let two_less = why(&["a", "b", "c"], &[], &["a"]);
        assert_eq!(two_less.as_deref(), Some("a newer plan lacks 2 changes of the approved set"));
        assert!(why(&["a", "b"], &[], &["a", "c"]).is_some_and(|why| why.contains("and lacks")));
        assert!(
            why(&["a"], &["a"], &["a"]).is_some(),
            "what was applied and is wanted again is another change"
        );
    }

    #[test]
    fn a_plan_and_a_group_of_the_same_changes_have_different_digests() {
        let same = members(&["a", "b"]);
        let group = SetScope::Group(Digest::of(b"signature"));
        assert_ne!(SetScope::Plan.digest(same.iter().copied()), group.digest(same.iter().copied()));
        assert_ne!(
            group.digest(same.iter().copied()),
            SetScope::Group(Digest::of(b"other")).digest(same.iter().copied())
        );
        assert_ne!(SetScope::Plan.digest(same.iter().copied()), SetScope::Plan.digest(members(&["a"])));
    }
}
