//! Writing rows to data files and delete files.

pub(crate) mod bounds_truncate;
pub mod conform;
pub(crate) mod conform_leaf;
pub mod delete_write;
pub mod distinct;
pub mod file_write;
pub mod locations;
pub mod metrics;
pub(crate) mod output;
pub mod partition_rows;
pub(crate) mod properties;
pub(crate) mod sort_rows;
pub(crate) mod stored_columns;
pub mod table_rows;
pub mod writer;
pub mod z_order;
