//! Planning: from a snapshot and a filter to splits.

pub mod bucket_filter;
pub mod changes;
pub mod compact_pick;
pub mod compact_plan;
pub mod deletes;
pub mod estimate;
pub(crate) mod evolution;
pub(crate) mod files;
pub(crate) mod index;
pub mod planner;
pub(crate) mod rules;
pub mod sections;
pub(crate) mod splits;
pub mod travel;
pub mod why;
