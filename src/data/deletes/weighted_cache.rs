//! A cache that many threads share, bounded by the bytes of its values.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::error::Result;
use crate::parallel::locked_unless_cancelled;

/// Entries without a value that a cache may have before it removes them.
const PLACES_SLACK: usize = 64;

/// Values by key. They take up to a number of bytes, and each is loaded once while the cache has it. The cache removes
/// values that were not requested lately ("second chance", close to least recently used). A value that someone uses is
/// always found, however large it is.
#[derive(Debug)]
pub(crate) struct WeightedCache<K, V> {
    pub(super) most_bytes: u64,
    state: Mutex<WeightedCacheState<K, V>>,
}

#[derive(Debug)]
struct WeightedCacheState<K, V> {
    places: HashMap<K, CacheEntry<V>>,
    order: VecDeque<K>,
    bytes: u64,
}

#[derive(Debug)]
struct CacheEntry<V> {
    /// The thread that loads it holds the lock; others wait.
    value: Arc<Mutex<Option<Arc<V>>>>,
    /// The value that was loaded last, for as long as anyone uses it.
    used: Weak<V>,
    /// Bytes of the value that is kept; 0 if none is kept.
    bytes: u64,
    was_requested: bool,
}

impl<V> CacheEntry<V> {
    fn new() -> CacheEntry<V> {
        CacheEntry { value: Arc::default(), used: Weak::new(), bytes: 0, was_requested: false }
    }

    /// Releases the value. Those who use it keep it.
    fn forget(&mut self) {
        (self.value, self.bytes) = (Arc::default(), 0);
    }

    /// Whether it has a value, or one that is being loaded.
    fn is_needed(&self) -> bool {
        self.bytes > 0 || self.used.strong_count() > 0 || Arc::strong_count(&self.value) > 1
    }
}

impl<K: Clone + Eq + Hash, V> WeightedCache<K, V> {
    pub(crate) fn new(most_bytes: u64) -> Self {
        let state = WeightedCacheState { places: HashMap::new(), order: VecDeque::new(), bytes: 0 };
        WeightedCache { most_bytes, state: Mutex::new(state) }
    }

    /// Whether the value of this key is in the cache.
    pub(super) fn has(&self, key: &K) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.places.get(key).is_some_and(|place| place.bytes > 0 || place.used.strong_count() > 0)
    }

    /// The value of this key, else the result of `load`. `weigh` returns its size in bytes.
    pub(crate) fn get(
        &self,
        key: K,
        load: impl FnOnce() -> Result<V>,
        weigh: impl FnOnce(&V) -> u64,
    ) -> Result<Arc<V>> {
        let place = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let place = state.places.entry(key.clone()).or_insert_with(CacheEntry::new);
            place.was_requested = place.bytes > 0;
            if let Some(value) = place.used.upgrade() {
                return Ok(value);
            }
            place.value.clone()
        };
        // Another thread of the call may load the value. Only this thread may be told of Ctrl-C.
        let mut value = locked_unless_cancelled(&place)?;
        if let Some(value) = value.as_ref() {
            return Ok(value.clone());
        }
        let loaded = load().map(Arc::new);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &loaded {
            Ok(loaded) => {
                *value = Some(loaded.clone());
                state.put(key, &place, loaded, weigh(loaded).max(1), self.most_bytes);
            }
            Err(_) => {
                state.places.remove(&key);
            }
        }
        loaded
    }
}

impl<K: Clone + Eq + Hash, V> WeightedCacheState<K, V> {
    fn put(&mut self, key: K, value: &Arc<Mutex<Option<Arc<V>>>>, loaded: &Arc<V>, bytes: u64, most_bytes: u64) {
        if self.places.len() > 2 * self.order.len() + PLACES_SLACK {
            self.places.retain(|_, place| place.is_needed());
        }
        match self.places.get_mut(&key) {
            // Another entry took the place after an error.
            Some(place) if !Arc::ptr_eq(&place.value, value) || place.bytes > 0 => return,
            Some(place) => {
                (place.bytes, place.used) = (bytes, Arc::downgrade(loaded));
                if bytes > most_bytes {
                    return place.forget();
                }
            }
            None => return,
        }
        self.order.push_back(key);
        self.bytes += bytes;
        while self.bytes > most_bytes {
            let Some(oldest) = self.order.pop_front() else { return };
            match self.places.get_mut(&oldest) {
                Some(place) if place.was_requested => {
                    place.was_requested = false;
                    self.order.push_back(oldest);
                }
                Some(place) => {
                    self.bytes -= place.bytes;
                    place.forget();
                    if !place.is_needed() {
                        self.places.remove(&oldest);
                    }
                }
                None => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "weighted_cache_tests.rs"]
mod tests;
