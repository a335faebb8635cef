//! The Iceberg tower: bytes of the format to tasks and commits.

#[cfg(test)]
mod attach_tests;
mod cached_columns;
pub mod catalog;
pub mod changes;
pub mod commit;
pub mod deletes;
pub mod entries;
mod equality_keys;
pub mod estimate;
pub mod evolve;
pub mod expire;
pub mod inspect;
pub mod manifest;
mod manifest_avro;
mod manifest_decode;
pub mod manifest_encode;
pub mod manifest_groups;
mod manifest_layout;
pub mod manifest_list;
mod manifest_metrics;
mod members;
pub mod metadata;
pub mod metadata_build;
mod metadata_encode;
pub mod metadata_json;
mod named_bounds;
pub mod partition;
pub mod partition_bounds;
pub mod partition_by;
mod path_index;
pub mod plan;
pub mod plan_cache;
mod plan_cached;
#[cfg(test)]
mod plan_testing;
mod planned;
pub mod reachable;
pub mod read_budget;
pub mod schema;
mod screen;
pub mod snapshot;
pub mod sort_order;
mod specs;
pub mod statistics;
#[cfg(test)]
mod traps_tests;
pub mod why;
