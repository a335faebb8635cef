//! Planning: from a snapshot and a filter to splits.

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
