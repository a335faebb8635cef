//! Writing tables with a primary key: kinds and order of rows, and the bucket of each key.

pub(crate) mod dynamic_buckets;
pub(crate) mod key_buckets;
pub(crate) mod key_deletes;
pub(crate) mod key_places;
pub(crate) mod key_rows;
pub(crate) mod keyed_rows;
pub(crate) mod row_kinds;
