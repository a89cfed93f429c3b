//! What each type of item can do, typed for its author and untyped for the run.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_core::host::HostItem;

use super::error::HostError;
use super::machine::Machine;
use super::tree::parent_of;
use windlass_core::host::FieldDifference;

/// A type of item: how the agent compares it with the host, makes it true, and removes it.
///
/// Every function can run again after a crash at any point: it looks at the host and does what is left to do.
pub(crate) trait ItemType {
    /// Its name in the inventory. It never changes.
    const NAME: &'static str;
    /// The kind in the item's id.
    const ID_KIND: &'static str;
    /// The item as declared.
    type Desired<'i>: Copy;
    /// What the agent keeps so that it can restore the host when the item is removed.
    type Previous: Serialize + DeserializeOwned;

    /// The item, if it has this type.
    fn of(item: &HostItem) -> Option<Self::Desired<'_>>;

    /// The files and links that it writes.
    fn paths(_machine: &Machine<'_>, _desired: Self::Desired<'_>) -> Vec<String> {
        Vec::new()
    }

    /// The directories that it needs. Those that do not exist are created.
    fn directories(machine: &Machine<'_>, desired: Self::Desired<'_>) -> Vec<String> {
        Self::paths(machine, desired).iter().map(|path| parent_of(path).to_owned()).collect()
    }

    /// What differs on the host; empty if the item is in sync.
    fn differences(
        machine: &Machine<'_>,
        desired: Self::Desired<'_>,
    ) -> Result<Vec<FieldDifference>, HostError>;

    /// Remembers what the host has before the first change.
    fn remember(machine: &Machine<'_>, desired: Self::Desired<'_>) -> Result<Self::Previous, HostError>;

    /// Makes the item true.
    fn apply(machine: &Machine<'_>, desired: Self::Desired<'_>) -> Result<(), HostError>;

    /// Does what is left of an interrupted change that no difference shows.
    fn finish_interrupted(_machine: &Machine<'_>, _desired: Self::Desired<'_>) -> Result<(), HostError> {
        Ok(())
    }

    /// What removal would change.
    fn removal_differences(
        machine: &Machine<'_>,
        name: &str,
        previous: &Self::Previous,
    ) -> Result<Vec<FieldDifference>, HostError>;

    /// Restores what the host had before.
    fn remove(machine: &Machine<'_>, name: &str, previous: &Self::Previous) -> Result<(), HostError>;
}

/// An [`ItemType`] without its types, for the table of all types. The functions for an item expect one of this type.
pub(crate) trait AnyItemType: Sync {
    fn name(&self) -> &'static str;
    fn id_kind(&self) -> &'static str;
    fn is_type_of(&self, item: &HostItem) -> bool;
    fn paths(&self, machine: &Machine<'_>, item: &HostItem) -> Vec<String>;
    fn directories(&self, machine: &Machine<'_>, item: &HostItem) -> Vec<String>;
    fn differences(&self, machine: &Machine<'_>, item: &HostItem) -> Result<Vec<FieldDifference>, HostError>;
    fn remember(&self, machine: &Machine<'_>, item: &HostItem) -> Result<Value, HostError>;
    fn apply(&self, machine: &Machine<'_>, item: &HostItem) -> Result<(), HostError>;
    fn finish_interrupted(&self, machine: &Machine<'_>, item: &HostItem) -> Result<(), HostError>;
    fn removal_differences(
        &self,
        machine: &Machine<'_>,
        name: &str,
        previous: &Value,
    ) -> Result<Vec<FieldDifference>, HostError>;
    fn remove(&self, machine: &Machine<'_>, name: &str, previous: &Value) -> Result<(), HostError>;
}

/// Makes an [`ItemType`] an [`AnyItemType`].
pub(crate) struct Untyped<T>(pub(crate) PhantomData<fn() -> T>);

fn desired<T: ItemType>(item: &HostItem) -> T::Desired<'_> {
    T::of(item).expect("the table found the type of the item")
}

fn previous_of<T: ItemType>(name: &str, previous: &Value) -> Result<T::Previous, HostError> {
    serde_json::from_value(previous.clone()).map_err(|error| HostError::StateUnreadable {
        path: format!("the inventory entry of {} {name}", T::NAME),
        problem: error.to_string(),
    })
}

impl<T: ItemType> AnyItemType for Untyped<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn id_kind(&self) -> &'static str {
        T::ID_KIND
    }

    fn is_type_of(&self, item: &HostItem) -> bool {
        T::of(item).is_some()
    }

    fn paths(&self, machine: &Machine<'_>, item: &HostItem) -> Vec<String> {
        T::paths(machine, desired::<T>(item))
    }

    fn directories(&self, machine: &Machine<'_>, item: &HostItem) -> Vec<String> {
        T::directories(machine, desired::<T>(item))
    }

    fn differences(&self, machine: &Machine<'_>, item: &HostItem) -> Result<Vec<FieldDifference>, HostError> {
        T::differences(machine, desired::<T>(item))
    }

    fn remember(&self, machine: &Machine<'_>, item: &HostItem) -> Result<Value, HostError> {
        let previous = T::remember(machine, desired::<T>(item))?;
        Ok(serde_json::to_value(previous).expect("a remembered item is JSON"))
    }

    fn apply(&self, machine: &Machine<'_>, item: &HostItem) -> Result<(), HostError> {
        T::apply(machine, desired::<T>(item))
    }

    fn finish_interrupted(&self, machine: &Machine<'_>, item: &HostItem) -> Result<(), HostError> {
        T::finish_interrupted(machine, desired::<T>(item))
    }

    fn removal_differences(
        &self,
        machine: &Machine<'_>,
        name: &str,
        previous: &Value,
    ) -> Result<Vec<FieldDifference>, HostError> {
        T::removal_differences(machine, name, &previous_of::<T>(name, previous)?)
    }

    fn remove(&self, machine: &Machine<'_>, name: &str, previous: &Value) -> Result<(), HostError> {
        T::remove(machine, name, &previous_of::<T>(name, previous)?)
    }
}
