//! Planning: from a snapshot and a filter to splits.
//!
//! [`input`] is pruned by [`files`] with the [`rules`] of the table; what is left is grouped into [`buckets`] and
//! packed into [`splits`], which are the [`planned`] result. [`planner`] plans a version, [`changes`] the changes
//! between two versions.

pub mod bucket_filter;
pub(crate) mod buckets;
pub mod changes;
pub mod compact_pick;
pub mod compact_plan;
pub mod deletes;
pub mod estimate;
pub(crate) mod evolution;
pub(crate) mod files;
pub(crate) mod index;
pub mod input;
pub mod planned;
pub mod planner;
pub mod record_expiry;
pub(crate) mod rules;
pub mod sections;
pub(crate) mod splits;
pub mod travel;
pub mod why;
