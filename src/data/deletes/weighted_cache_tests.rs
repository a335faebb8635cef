use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::data::deletes::weighted_cache::WeightedCache;
use crate::error::Error;

#[test]
fn a_cache_loads_once_and_forgets_what_is_asked_for_least() {
    let cache: WeightedCache<u32, u64> = WeightedCache::new(100);
    let loads = AtomicUsize::new(0);
    let get = |key: u32, bytes: u64| {
        let load = || {
            loads.fetch_add(1, Ordering::Relaxed);
            Ok(bytes)
        };
        assert_eq!(*cache.get(key, load, |v| *v).unwrap(), bytes);
        loads.load(Ordering::Relaxed)
    };
    assert_eq!((get(1, 40), get(2, 40), get(1, 40)), (1, 2, 2));
    // The second value was not requested again, so it makes room for the third.
    assert_eq!(get(3, 40), 3);
    assert_eq!((get(1, 40), get(3, 40), get(2, 40)), (3, 3, 4));
    // A value larger than the cache is not kept and removes no other value.
    let kept = |key| cache.state.lock().unwrap().places.get(&key).is_some_and(|p| p.bytes > 0);
    let before: Vec<bool> = (1..4).map(kept).collect();
    assert_eq!((get(9, 101), get(9, 101)), (5, 6));
    assert_eq!((1..4).map(kept).collect::<Vec<_>>(), before);
    let state = cache.state.lock().unwrap();
    assert!(state.bytes <= 100 && state.order.len() == state.places.values().filter(|p| p.bytes > 0).count());
}

#[test]
fn what_is_used_is_shared_however_large_it_is() {
    let cache: WeightedCache<u32, u64> = WeightedCache::new(100);
    let loads = AtomicUsize::new(0);
    let get = |key: u32, bytes: u64| {
        let load = || {
            loads.fetch_add(1, Ordering::Relaxed);
            Ok(bytes)
        };
        cache.get(key, load, |v| *v).unwrap()
    };
    let large = get(1, 1000);
    assert!(Arc::ptr_eq(&large, &get(1, 1000)));
    // A value that had to make room is still found while it is used.
    let small = get(2, 60);
    drop((get(3, 60), get(4, 60)));
    assert!(Arc::ptr_eq(&small, &get(2, 60)));
    assert_eq!(loads.load(Ordering::Relaxed), 4);
    drop((large, small));
    assert_eq!(*get(1, 1000), 1000);
    assert_eq!(loads.load(Ordering::Relaxed), 5);
    // Entries of values that no one uses do not pile up.
    (10..1000).for_each(|key| drop(get(key, 1000)));
    assert!(cache.state.lock().unwrap().places.len() < 100);
}

#[test]
fn what_failed_is_tried_again() {
    let cache: WeightedCache<u32, u64> = WeightedCache::new(100);
    assert!(cache.get(1, || Err(Error::corrupt("no")), |v| *v).is_err());
    assert_eq!(*cache.get(1, || Ok(5), |v| *v).unwrap(), 5);
}

#[test]
fn threads_share_one_load() {
    let cache: WeightedCache<u32, u64> = WeightedCache::new(100);
    let loads = AtomicUsize::new(0);
    let slow = || {
        loads.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(20));
        Ok(7)
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(*cache.get(1, slow, |v| *v).unwrap(), 7));
        }
    });
    assert_eq!(loads.load(Ordering::Relaxed), 1);
}
