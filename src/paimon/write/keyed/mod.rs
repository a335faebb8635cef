//! Writing tables with a primary key: kinds and order of rows, and the bucket of each key.
//!
//! - `dynamic_buckets`: dynamic buckets: a key stays in the bucket that has its hash, and a new key gets one with
//!   room
//! - `key_buckets`: the bucket of every row of a table with a primary key
//! - `key_deletes`: checks whether a table with a primary key accepts rows that delete others
//! - `key_places`: the place of each key, for tables with a primary key that lacks partition columns
//! - `key_rows`: columns of Arrow as binary rows: partitions, keys, and input of bucket hashes
//! - `keyed_rows`: rows of tables with a primary key: gives them bucket, sequence number and kind, merges them by
//!   key, and lays them out
//! - `row_kinds`: kinds of written rows, and which rows are skipped because of their kind

pub(crate) mod dynamic_buckets;
pub(crate) mod key_buckets;
pub(crate) mod key_deletes;
pub(crate) mod key_places;
pub(crate) mod key_rows;
pub(crate) mod keyed_rows;
pub(crate) mod row_kinds;
