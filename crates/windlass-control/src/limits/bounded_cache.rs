//! A cache with a bound on the memory that its values take. What was used longest ago leaves first.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A cache of values that are cheap to clone.
#[derive(Debug)]
pub(crate) struct BoundedCache<K, V> {
    limit: usize,
    kept: Mutex<Kept<K, V>>,
}

#[derive(Debug)]
struct Kept<K, V> {
    values: BTreeMap<K, CachedValue<V>>,
    /// The keys by their last use.
    by_use: BTreeMap<u64, K>,
    uses: u64,
    bytes: usize,
}

#[derive(Debug)]
struct CachedValue<V> {
    value: V,
    bytes: usize,
    last_use: u64,
}

impl<K: Ord + Clone, V: Clone> BoundedCache<K, V> {
    /// An empty cache for values of this many bytes together.
    pub(crate) fn new(limit: usize) -> BoundedCache<K, V> {
        let kept = Kept { values: BTreeMap::new(), by_use: BTreeMap::new(), uses: 0, bytes: 0 };
        BoundedCache { limit, kept: Mutex::new(kept) }
    }

    /// The value of a key, if it is cached.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let mut kept = self.lock();
        let now = kept.next_use();
        let found = kept.values.get_mut(key)?;
        let before = std::mem::replace(&mut found.last_use, now);
        let value = found.value.clone();
        kept.by_use.remove(&before);
        kept.by_use.insert(now, key.clone());
        Some(value)
    }

    /// Caches a value of this many bytes, in place of an earlier one. A value that is larger than the cache is not kept.
    pub(crate) fn put(&self, key: K, value: V, bytes: usize) {
        let mut kept = self.lock();
        kept.remove(&key);
        if bytes > self.limit {
            return;
        }
        while kept.bytes + bytes > self.limit {
            let Some((_, oldest)) = kept.by_use.pop_first() else { break };
            kept.remove(&oldest);
        }
        let last_use = kept.next_use();
        kept.bytes += bytes;
        kept.by_use.insert(last_use, key.clone());
        kept.values.insert(key, CachedValue { value, bytes, last_use });
    }

    fn lock(&self) -> MutexGuard<'_, Kept<K, V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Ord, V> Kept<K, V> {
    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    fn remove(&mut self, key: &K) {
        if let Some(gone) = self.values.remove(key) {
            self.bytes -= gone.bytes;
            self.by_use.remove(&gone.last_use);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_leaves_when_the_room_is_spent() {
        let cache = BoundedCache::new(10);
        for (key, value) in [("a", 1), ("b", 2), ("c", 3)] {
            cache.put(key, value, 3);
        }
        assert_eq!(cache.get(&"a"), Some(1));
        cache.put("d", 4, 4);
        assert_eq!(["a", "b", "c", "d"].map(|key| cache.get(&key)), [Some(1), None, Some(3), Some(4)]);
        cache.put("a", 9, 10);
        assert_eq!(["a", "c", "d"].map(|key| cache.get(&key)), [Some(9), None, None]);
        cache.put("a", 10, 11);
        assert_eq!(cache.get(&"a"), None, "it is larger than the cache");
        assert_eq!(cache.lock().bytes, 0);
    }
}
