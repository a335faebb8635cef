//! Rows to new data files.

pub(crate) mod append_rows;
pub(crate) mod bucket_writer;
pub(crate) mod buckets;
pub(crate) mod default_values;
pub(crate) mod dynamic_buckets;
pub(crate) mod facts;
pub(crate) mod file_indexes;
pub(crate) mod file_options;
pub(crate) mod key_buckets;
pub(crate) mod key_places;
pub(crate) mod key_rows;
pub(crate) mod keyed_rows;
pub(crate) mod limits;
pub(crate) mod names;
pub(crate) mod new_files;
pub(crate) mod properties;
pub(crate) mod row_kinds;
pub(crate) mod stats;
pub mod writer;
pub(crate) mod written;
