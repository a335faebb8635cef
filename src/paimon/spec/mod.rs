//! The types of the specification: types, schemas, snapshots, options, binary rows, partitions, buckets, statistics.
//!
//! - `binary_row`: binary rows: the form of partitions, keys and bounds in manifests, and the input of bucket
//!   hashes
//! - `binary_row_write`: writing binary rows, byte by byte as Java does: hashes and the identity of files
//!   depend on it
//! - `bucket`: the bucket of a row
//! - `commit_rows`: the rows that a commit brings, by the options of a schema
//! - `data_type`: Paimon's exact types
//! - `data_type_json`: types and fields as JSON, as in schema files
//! - `data_type_text`: types as SQL text, the form of types without children in schema files:
//!   `DECIMAL(9, 2) NOT NULL`
//! - `from_types`: Paimon's types for columns of the crate's own types
//! - `options`: table options with Java's defaults: how rows merge, where files are, how planning works
//! - `partition`: partitions: the values that all rows of a file share, and the folders that follow from them
//! - `partition_text`: partition values in paths, as Java prints them
//! - `pretty_json`: JSON files in Java's layout, so that equal content gives equal bytes
//! - `schema`: schema files: columns, keys and options of a table at one time
//! - `snapshot`: snapshot files: the result of a commit
//! - `stats`: statistics of a file or a manifest: least and greatest values and numbers of nulls, by column
//! - `stats_decode`: statistics and lists of names from Avro bytes, for manifests and manifest lists
//! - `testing`: helpers of several tests of this tower: tables that Java wrote, and values as in the expected results

pub mod binary_row;
pub mod binary_row_write;
pub mod bucket;
mod commit_rows;
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
