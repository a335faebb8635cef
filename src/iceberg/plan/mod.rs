//! Planning: from a snapshot and a filter to the files that can match.

#[cfg(test)]
pub(crate) mod attach_tests;
pub mod changes;
pub mod deletes;
pub(crate) mod equality_keys;
pub mod estimate;
pub mod file_bounds;
pub mod input;
pub(crate) mod judge;
pub mod kept_entries;
pub mod manifest_groups;
pub(crate) mod named_bounds;
pub mod partition_bounds;
pub(crate) mod path_index;
pub mod plan_cache;
pub(crate) mod planned;
pub mod planner;
pub(crate) mod screen;
pub(crate) mod specs;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
pub(crate) mod traps_tests;
pub mod why;
