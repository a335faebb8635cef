//! Writing tables with a primary key: kinds and order of rows, and the bucket of each key.
//!
//! - `dynamic_buckets`: buckets that are given to keys as they come: a key stays in the bucket that has its
//!   hash, a new one goes to the first bucket with room, else to a new bucket
//! - `key_buckets`: the bucket of every row of a table with a primary key
//! - `key_deletes`: checks whether a table with a primary key accepts rows that delete others
//! - `key_places`: where each key is, for tables whose primary key lacks partition columns
//! - `key_rows`: columns of Arrow as binary rows: partitions, keys, and what buckets are hashed from
//! - `keyed_rows`: rows of tables with a primary key: checked, given bucket, sequence number and kind, merged
//!   by key, and laid out as in their files
//! - `row_kinds`: kinds of written rows, and which rows are skipped because of their kind

pub(crate) mod dynamic_buckets;
pub(crate) mod key_buckets;
pub(crate) mod key_deletes;
pub(crate) mod key_places;
pub(crate) mod key_rows;
pub(crate) mod keyed_rows;
pub(crate) mod row_kinds;
