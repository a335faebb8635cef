//! Writing rows to data files and delete files.
//!
//! [`writer`] is the entry for data files and equality deletes, and [`delete_write`] for deletes by position. Both get
//! a [`context`].
//!
//! [`conform`] brings any batch to the schema of the table. [`partition_rows`] splits it by partition, and `sort_rows`
//! sorts it. With [`z_order`], rows are sorted along a curve. [`locations`] and `output` name the files. [`file_write`]
//! begins a [`new_file`] of the format that the table wants. [`metrics`] collects the values that manifests record for
//! a file. [`table_rows`] is for tables of a format that changes rows in more ways.
//!
//! `conform_leaf` converts single columns, and `refusal` says why a value does not fit. `stored_columns` leaves out
//! columns that files do not store. `bounds_truncate` shortens bounds, and [`distinct`] counts distinct values.
//! `properties` reads table properties for files of one format.

pub(crate) mod bounds_truncate;
pub mod conform;
pub(crate) mod conform_leaf;
pub mod context;
pub mod delete_write;
pub mod distinct;
pub mod file_write;
pub mod locations;
pub mod metrics;
pub mod new_file;
pub(crate) mod output;
pub mod partition_rows;
pub(crate) mod properties;
pub(crate) mod refusal;
pub(crate) mod sort_rows;
pub(crate) mod stored_columns;
pub mod table_rows;
pub mod writer;
pub mod z_order;
