//! The types of the specification: types, schemas, snapshots, options, binary rows, partitions, buckets, statistics.

pub mod binary_row;
pub mod binary_row_write;
pub mod bucket;
pub mod data_type;
mod data_type_json;
pub(crate) mod data_type_text;
pub(crate) mod from_types;
pub mod options;
pub mod partition;
pub(crate) mod partition_text;
pub(crate) mod pretty_json;
pub mod schema;
pub mod snapshot;
pub mod stats;
pub(crate) mod stats_decode;
#[cfg(test)]
pub(crate) mod testing;
