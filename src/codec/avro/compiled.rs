//! Compiled forms of recent schemas, shared by all threads. The manifests of a table usually have one schema, and
//! compiling it is much of the work of a small plan.

use std::sync::{Arc, Mutex, TryLockError};

use crate::error::Result;

/// The number of cached schemas: enough for a few tables with a few kinds of manifests and lists.
const MOST: usize = 16;

/// The longest schema text that is cached, so that a hostile schema is freed with its file.
const MOST_BYTES: usize = 128 << 10;

/// Compiled schemas, the most recently used first.
#[derive(Debug)]
pub struct Compiled<T>(Mutex<Vec<Arc<T>>>);

impl<T> Compiled<T> {
    /// Creates an empty cache.
    #[allow(clippy::new_without_default)] // a static can't be made of a default
    pub const fn new() -> Compiled<T> {
        Compiled(Mutex::new(Vec::new()))
    }

    /// The schema that `is_it` recognises. Otherwise the result of `compile` for `bytes` bytes of schema.
    ///
    /// # Errors
    /// Errors of `compile`.
    pub fn get(&self, bytes: usize, is_it: impl Fn(&T) -> bool, compile: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let found = self.with(|known| {
            let place = known.iter().position(|one| is_it(one))?;
            known[..=place].rotate_right(1);
            known.first().cloned()
        });
        if let Some(found) = found.flatten() {
            return Ok(found);
        }
        let compiled = Arc::new(compile()?);
        if bytes <= MOST_BYTES {
            self.with(|known| {
                known.truncate(MOST - 1);
                known.insert(0, compiled.clone());
            });
        }
        Ok(compiled)
    }

    /// Never waits: in a forked process, a thread that no longer exists may hold the lock forever.
    fn with<O>(&self, work: impl FnOnce(&mut Vec<Arc<T>>) -> O) -> Option<O> {
        match self.0.try_lock() {
            Ok(mut known) => Some(work(&mut known)),
            Err(TryLockError::Poisoned(known)) => Some(work(&mut known.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn get(known: &Compiled<String>, text: &str, compiled: &mut u32) -> Arc<String> {
        let make = || {
            *compiled += 1;
            Ok(text.to_owned())
        };
        known.get(text.len(), |one| one == text, make).unwrap()
    }

    #[test]
    fn the_last_ones_used_stay() {
        let (known, mut compiled) = (Compiled::new(), 0);
        for i in 0..MOST {
            get(&known, &i.to_string(), &mut compiled);
        }
        assert_eq!(compiled, MOST as u32);
        assert_eq!(*get(&known, "0", &mut compiled), "0");
        assert_eq!(compiled, MOST as u32);
        // A new schema replaces the least recently used one.
        get(&known, "more", &mut compiled);
        get(&known, "0", &mut compiled);
        assert_eq!(compiled, MOST as u32 + 1);
        get(&known, "1", &mut compiled);
        assert_eq!((compiled, known.0.lock().unwrap().len()), (MOST as u32 + 2, MOST));
    }

    #[test]
    fn what_is_too_large_or_wrong_is_not_kept() {
        let (known, mut compiled) = (Compiled::new(), 0);
        let large = "x".repeat(MOST_BYTES + 1);
        (0..2).for_each(|_| drop(get(&known, &large, &mut compiled)));
        assert!(known.get(1, |_| false, || Err(Error::corrupt("bad"))).is_err());
        assert_eq!((compiled, known.0.lock().unwrap().len()), (2, 0));
    }

    #[test]
    fn nobody_waits_for_it() {
        let (known, mut compiled) = (Compiled::new(), 0);
        get(&known, "a", &mut compiled);
        let held = known.0.lock().unwrap();
        get(&known, "a", &mut compiled);
        drop(held);
        get(&known, "a", &mut compiled);
        assert_eq!(compiled, 2);
    }
}
