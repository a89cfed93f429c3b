//! Things by resource key, in key order, found without building a key.

use std::collections::BTreeMap;

use super::key::ResourceKey;
use super::kind::Kind;

/// A map from resource to `T`, iterated by kind and then by name.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceMap<T> {
    kinds: BTreeMap<Kind, BTreeMap<String, T>>,
}

impl<T> Default for ResourceMap<T> {
    fn default() -> Self {
        ResourceMap { kinds: BTreeMap::new() }
    }
}

impl<T> ResourceMap<T> {
    /// What is held for this resource.
    pub fn get(&self, kind: Kind, name: &str) -> Option<&T> {
        self.kinds.get(&kind)?.get(name)
    }

    /// What is held for this resource, to change it.
    pub fn get_mut(&mut self, kind: Kind, name: &str) -> Option<&mut T> {
        self.kinds.get_mut(&kind)?.get_mut(name)
    }

    /// Whether anything is held for this resource.
    pub fn contains(&self, kind: Kind, name: &str) -> bool {
        self.get(kind, name).is_some()
    }

    /// Holds something for this resource and returns what was held before.
    pub fn insert(&mut self, key: ResourceKey, value: T) -> Option<T> {
        self.kinds.entry(key.kind).or_default().insert(key.name, value)
    }

    /// Forgets this resource.
    pub fn remove(&mut self, kind: Kind, name: &str) -> Option<T> {
        self.kinds.get_mut(&kind)?.remove(name)
    }

    /// Forgets the resources for which `is_kept` says no.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&T) -> bool) {
        self.kinds.retain(|_, names| {
            names.retain(|_, value| is_kept(value));
            !names.is_empty()
        });
    }

    /// All of them, by kind and then by name.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, &str, &T)> {
        self.kinds
            .iter()
            .flat_map(|(kind, names)| names.iter().map(|(name, value)| (*kind, name.as_str(), value)))
    }

    /// All of them, to change them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.kinds.values_mut().flat_map(BTreeMap::values_mut)
    }

    /// Those of one kind, by name.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&str, &T)> {
        self.kinds.get(&kind).into_iter().flatten().map(|(name, value)| (name.as_str(), value))
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.kinds.values().map(BTreeMap::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> FromIterator<(ResourceKey, T)> for ResourceMap<T> {
    fn from_iter<I: IntoIterator<Item = (ResourceKey, T)>>(items: I) -> Self {
        let mut map = ResourceMap::default();
        for (key, value) in items {
            map.insert(key, value);
        }
        map
    }
}
