//! Which resources differ, and why.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::fields::{FieldChange, content_fields, field_changes, hide_secrets, version_fields};
use crate::accepted::{Accepted, AcceptedResource, Owner};
use crate::code::Code;
use crate::content::ContentChange;
use crate::desired::Desired;
use crate::digest::Digest;
use crate::quote::quoted;
use crate::resource::{ResourceKey, Spec};
use crate::resource_finding::ResourceFinding;
use crate::shape::{Defaults, choice};
use crate::states::{self, states};

choice! {
    /// The action on a resource.
    pub enum Action {
        /// Creates it.
        Create = "create",
        /// Changes it, or adopts it unchanged.
        Update = "update",
        /// Deletes it.
        Destroy = "destroy",
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Action, D::Error> {
        states::deserialize(deserializer)
    }
}

states! {
    /// Why a resource changes.
    Cause {
        /// The files declare it and it does not exist.
        Declared "declared",
        /// The files declare other values.
        Edited "edited",
        /// It exists without an owner, and these files declare it.
        Adopted "adopted",
        /// These files declare it, and another repository owns it. It is blocked until that one no longer declares it.
        Contested "contested",
        /// These files owned it and no longer declare it.
        Removed "removed",
    }
}

impl Cause {
    /// The action for this cause.
    pub const fn action(self) -> Action {
        match self {
            Cause::Declared => Action::Create,
            Cause::Edited | Cause::Adopted | Cause::Contested => Action::Update,
            Cause::Removed => Action::Destroy,
        }
    }
}

/// One difference between desired and accepted state.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The resource.
    pub key: ResourceKey,
    /// Why it changes.
    pub cause: Cause,
    /// The accepted spec.
    pub before: Option<Arc<Spec>>,
    /// The digest of the accepted spec, which an approval is bound to.
    pub base: Option<Digest>,
    /// The desired spec.
    pub after: Option<Arc<Spec>>,
    /// The digest of the desired spec, which an approval is bound to.
    pub desired: Option<Digest>,
}

impl Change {
    /// The action.
    pub fn action(&self) -> Action {
        self.cause.action()
    }

    /// The fields that differ, with defaults on both sides and secrets masked. Only for updates: a created or destroyed
    /// resource differs as a whole.
    pub fn fields(&self) -> Vec<FieldChange> {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                let mut fields =
                    field_changes(&before.to_json(Defaults::Fill), &after.to_json(Defaults::Fill));
                fields.extend(content_fields(&before.contents(), &after.contents()));
                fields.extend(version_fields(before, after));
                fields
            }
            _ => Vec::new(),
        }
    }

    /// The paths whose content changes or that are named for the first time, in order. A path that is no longer named
    /// is a changed field, without content to show.
    pub fn content_changes(&self) -> Vec<ContentChange> {
        let Some(after) = &self.after else { return Vec::new() };
        let before = self.before.as_ref().map(|before| before.contents()).unwrap_or_default();
        let after = after.contents().into_iter();
        after
            .map(|(path, after)| ContentChange {
                path: path.to_owned(),
                before: before.get(path).copied(),
                after,
            })
            .filter(|change| change.before != Some(change.after))
            .collect()
    }

    /// The spec that is created, updated to or destroyed, without defaults, secrets masked.
    pub fn payload(&self) -> Value {
        let spec = self.after.as_ref().or(self.before.as_ref());
        spec.map_or(Value::Null, |spec| hide_secrets(spec.to_json(Defaults::Omit)))
    }
}

/// All differences of one repository.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The changes in key order. The plan sorts them for applying.
    pub changes: Vec<Change>,
    /// Resources that another repository owns. Each is also among the changes, and blocked.
    pub problems: Vec<ResourceFinding>,
    /// The number of accepted resources that the repository owns.
    pub owned: usize,
    /// The number of declared resources without a change.
    pub unchanged: usize,
}

/// Compares what a repository declares with the accepted state.
pub fn compare(desired: &Desired, accepted: &Accepted, repository: &Owner) -> Comparison {
    let mut comparison = Comparison::default();
    for (kind, name, declared) in desired.resources.iter() {
        let key = || ResourceKey::new(kind, name);
        let current = accepted.resources.get(kind, name);
        let cause = match current {
            None => Cause::Declared,
            Some(current) if current.owner == *repository && current.digest == declared.digest => {
                comparison.unchanged += 1;
                continue;
            }
            Some(current) if current.owner == *repository => Cause::Edited,
            Some(current) if current.owner == Owner::Nobody => Cause::Adopted,
            Some(current) => {
                comparison.problems.push(owned_elsewhere(key(), current));
                Cause::Contested
            }
        };
        comparison.changes.push(Change {
            key: key(),
            cause,
            before: current.map(|current| Arc::clone(&current.spec)),
            base: current.map(|current| current.digest),
            after: Some(Arc::clone(&declared.spec)),
            desired: Some(declared.digest),
        });
    }
    for (kind, name, current) in
        accepted.resources.iter().filter(|(_, _, current)| current.owner == *repository)
    {
        comparison.owned += 1;
        if !desired.resources.contains(kind, name) {
            comparison.changes.push(Change {
                key: ResourceKey::new(kind, name),
                cause: Cause::Removed,
                before: Some(Arc::clone(&current.spec)),
                base: Some(current.digest),
                after: None,
                desired: None,
            });
        }
    }
    comparison.changes.sort_by(|a, b| a.key.cmp(&b.key));
    comparison
}

fn owned_elsewhere(key: ResourceKey, current: &AcceptedResource) -> ResourceFinding {
    let owner = match &current.owner {
        Owner::Nobody => "nobody".to_owned(),
        Owner::Repository(name) => format!("the repository {}", quoted(name)),
    };
    let message = format!("the {} {} is owned by {owner}", key.kind, quoted(&key.name));
    let help = "declare it in only one repository; to move it here, remove it there first";
    ResourceFinding::for_resource(key, Code::OwnedElsewhere, message, help)
}
