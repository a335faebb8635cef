//! The Paimon tower: bytes of the format to tasks and commits.
//!
//! [`catalog::filesystem`] finds what a table's folder holds, [`metadata`] is what opening a table needs, [`schema`] and
//! [`snapshot`] are its JSON files. A snapshot leads to [`manifest_list`]s, those to [`manifest`]s, whose entries [`live`] puts
//! together; [`index_manifest`] leads to deletion vectors. Keys, partitions and bounds inside them are [`binary_row`]s, which
//! [`stats`], [`partition`] and [`bucket`] give their meaning.

pub mod binary_row;
pub mod binary_row_write;
pub mod bucket;
pub mod bucket_filter;
pub mod catalog;
pub mod changes;
pub mod commit;
pub mod compact_pick;
pub mod compact_plan;
pub mod data_type;
mod data_type_text;
pub mod deletes;
pub mod entries;
pub mod expire;
pub mod file_entry;
pub mod hash_index;
pub mod index_manifest;
pub mod live;
pub mod manifest;
pub mod manifest_encode;
pub mod manifest_folder;
pub mod manifest_list;
pub mod metadata;
pub mod options;
pub mod orphans;
pub mod partition;
mod partition_text;
pub mod plan;
pub mod plan_estimate;
mod plan_evolution;
mod plan_files;
mod plan_index;
mod plan_rules;
mod plan_splits;
mod pretty_json;
pub mod record_expiry;
pub mod schema;
pub mod sections;
pub mod snapshot;
pub mod stats;
mod stats_decode;
pub mod tag_times;
#[cfg(test)]
mod testing;
pub mod travel;
pub mod why;
