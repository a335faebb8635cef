//! Maintenance: compaction, expiry, orphan files.
//!
//! [`compact`] runs a compaction: [`compaction`] is its input and result, [`compact_job`] its plan.

pub mod compact;
pub(crate) mod compact_append;
pub(crate) mod compact_job;
pub(crate) mod compact_json;
pub(crate) mod compact_keyed;
pub(crate) mod compact_postponed;
pub mod compaction;
pub(crate) mod json;
