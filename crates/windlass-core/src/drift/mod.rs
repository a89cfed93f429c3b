//! Differences between the accepted state and git, and whether a manual change caused them.
//!
//! Works on digests only: nothing is read or parsed for unchanged resources, so that a large fleet can be checked every
//! minute.
//!
//! Differences between a machine and the accepted state come from agents: `reported` makes them safe to store.

mod acceptance;
mod reported;

pub use acceptance::{Acceptance, Acceptances};
pub use reported::{DriftedItem, ItemAcceptance, ItemAcceptances, ItemKey, MAX_ITEMS_OF_TARGET, bound_items};

use crate::accepted::Owner;
use crate::diff::Action;
use crate::digest::Digest;
use crate::resource::{ResourceKey, ResourceMap};

/// The desired state of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DesiredDigests {
    /// The desired digest.
    pub digest: Digest,
    /// The accepted digest when git's version, or an edited and approved change, was last applied; `None` if that never
    /// happened.
    pub last_agreed: Option<Digest>,
}

/// The accepted state of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedDigest {
    /// The accepted digest.
    pub digest: Digest,
    /// The repository that may change it through git.
    pub owner: Owner,
}

/// The origin of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceOrigin {
    /// Git changed, and the change is not approved and applied yet.
    Pending,
    /// Someone changed the accepted state manually.
    ManualChange,
}

/// A resource that differs from git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitDifference {
    /// The resource.
    pub key: ResourceKey,
    /// The action that would restore git's version.
    pub action: Action,
    /// The desired digest.
    pub desired: Option<Digest>,
    /// The accepted digest.
    pub accepted: Option<Digest>,
    /// Its origin.
    pub origin: DifferenceOrigin,
}

/// The differences between a repository's desired state and the accepted state, in key order. Resources that another
/// repository owns are not included: syncs report those.
pub fn git_differences(
    wanted: &ResourceMap<DesiredDigests>,
    accepted: &ResourceMap<AcceptedDigest>,
    repository: &Owner,
) -> Vec<GitDifference> {
    let mut found = Vec::new();
    for (kind, name, wanted) in wanted.iter() {
        let present = accepted.get(kind, name);
        let is_ours = present.is_some_and(|present| present.owner == *repository);
        let action = match present {
            None => Action::Create,
            Some(present) if is_ours && present.digest == wanted.digest => continue,
            Some(present) if is_ours || present.owner == Owner::Nobody => Action::Update,
            Some(_) => continue,
        };
        let accepted = present.map(|present| present.digest);
        let has_changed_since = wanted.last_agreed.is_some() && (wanted.last_agreed != accepted || !is_ours);
        found.push(GitDifference {
            key: ResourceKey::new(kind, name),
            action,
            desired: Some(wanted.digest),
            accepted,
            origin: if has_changed_since {
                DifferenceOrigin::ManualChange
            } else {
                DifferenceOrigin::Pending
            },
        });
    }
    for (kind, name, present) in accepted.iter().filter(|(_, _, present)| present.owner == *repository) {
        if !wanted.contains(kind, name) {
            found.push(GitDifference {
                key: ResourceKey::new(kind, name),
                action: Action::Destroy,
                desired: None,
                accepted: Some(present.digest),
                origin: DifferenceOrigin::Pending,
            });
        }
    }
    found.sort_by(|a, b| a.key.cmp(&b.key));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Kind;

    fn digest(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    fn find(
        wanted: Option<(&str, Option<&str>)>,
        accepted: Option<(&str, Owner)>,
    ) -> Option<(Action, DifferenceOrigin)> {
        let key = ResourceKey::new(Kind::Node, "n");
        let wanted = wanted.map(|(text, last_agreed)| {
            (key.clone(), DesiredDigests { digest: digest(text), last_agreed: last_agreed.map(digest) })
        });
        let accepted =
            accepted.map(|(text, owner)| (key.clone(), AcceptedDigest { digest: digest(text), owner }));
        let ours = Owner::Repository("ours".to_owned());
        let found = git_differences(&wanted.into_iter().collect(), &accepted.into_iter().collect(), &ours);
        found.first().map(|difference| (difference.action, difference.origin))
    }

    #[test]
    fn a_manual_change_is_distinguished_from_a_change_that_needs_approval() {
        let ours = || Owner::Repository("ours".to_owned());
        let theirs = || Owner::Repository("theirs".to_owned());
        assert_eq!(find(Some(("a", None)), None), Some((Action::Create, DifferenceOrigin::Pending)));
        assert_eq!(find(Some(("a", Some("a"))), Some(("a", ours()))), None);
        assert_eq!(
            find(Some(("b", Some("a"))), Some(("a", ours()))),
            Some((Action::Update, DifferenceOrigin::Pending))
        );
        assert_eq!(
            find(Some(("a", Some("a"))), Some(("x", ours()))),
            Some((Action::Update, DifferenceOrigin::ManualChange))
        );
        assert_eq!(
            find(Some(("a", Some("a"))), None),
            Some((Action::Create, DifferenceOrigin::ManualChange))
        );
        assert_eq!(
            find(Some(("a", None)), Some(("x", Owner::Nobody))),
            Some((Action::Update, DifferenceOrigin::Pending))
        );
        assert_eq!(find(Some(("a", Some("a"))), Some(("x", theirs()))), None);
        assert_eq!(find(None, Some(("x", ours()))), Some((Action::Destroy, DifferenceOrigin::Pending)));
    }
}
