//! A map by resource key, in key order, with lookups that build no key.

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
    /// The value of this resource.
    pub fn get(&self, kind: Kind, name: &str) -> Option<&T> {
        self.kinds.get(&kind)?.get(name)
    }

    /// The value of this resource, mutable.
    pub fn get_mut(&mut self, kind: Kind, name: &str) -> Option<&mut T> {
        self.kinds.get_mut(&kind)?.get_mut(name)
    }

    /// Whether this resource has a value.
    pub fn contains(&self, kind: Kind, name: &str) -> bool {
        self.get(kind, name).is_some()
    }

    /// Sets the value of this resource and returns the previous one.
    pub fn insert(&mut self, key: ResourceKey, value: T) -> Option<T> {
        self.kinds.entry(key.kind).or_default().insert(key.name, value)
    }

    /// Removes this resource.
    pub fn remove(&mut self, kind: Kind, name: &str) -> Option<T> {
        self.kinds.get_mut(&kind)?.remove(name)
    }

    /// Removes the resources for which `is_kept` returns false.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&T) -> bool) {
        self.kinds.retain(|_, names| {
            names.retain(|_, value| is_kept(value));
            !names.is_empty()
        });
    }

    /// All values, by kind and then by name.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, &str, &T)> {
        self.kinds
            .iter()
            .flat_map(|(kind, names)| names.iter().map(|(name, value)| (*kind, name.as_str(), value)))
    }

    /// All values, mutable.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.kinds.values_mut().flat_map(BTreeMap::values_mut)
    }

    /// The values of one kind, by name.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&str, &T)> {
        self.kinds.get(&kind).into_iter().flatten().map(|(name, value)| (name.as_str(), value))
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.kinds.values().map(BTreeMap::len).sum()
    }

    /// Whether the map is empty.
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
