//! Data files to Arrow and back.
//!
//! [`read`] is the entry: it takes a [`ScanTask`](crate::task::ScanTask) and streams record batches. Under it,
//! [`parquet_file`] opens and fetches, [`row_groups`] skips what the filter rules out, [`project`] turns the file's columns
//! into the table's ([`cast`] for single values), and [`filter`] keeps the rows. [`arrow_schema`] says which Arrow types
//! the rows have.

pub mod arrow_schema;
mod cast;
pub mod filter;
mod parquet_file;
mod project;
pub mod read;
mod row_groups;
#[cfg(test)]
mod testing;
mod thrift;
