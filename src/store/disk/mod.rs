//! Local files that survive a crash.
//!
//! - `steps`: new folders, synced bytes, an exclusive name, synced folders
//! - `unsynced`: new files that are complete but not durable yet, and their common sync
//! - `journal`: records the steps in tests, to build the states that a crash may leave

#[cfg(test)]
pub(crate) mod journal;
pub(in crate::store) mod steps;
mod unsynced;

pub use unsynced::Unsynced;
