//! Maintenance: compaction, expiry, orphan files.
//!
//! [`actions`] runs an action. [`compact`] runs a compaction, and [`compact_job`] is its plan.

pub(crate) mod actions;
pub mod compact;
pub(crate) mod compact_append;
pub(crate) mod compact_job;
pub(crate) mod compact_keyed;
pub(crate) mod compact_postponed;
pub mod compaction;
