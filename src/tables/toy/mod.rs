//! A third table format, for tests alone: a folder of Parquet files.
//!
//! `schema.json` has the columns. `v1.json`, `v2.json` and so on list the files of each version. It shows that a format
//! needs nothing but the traits of the seam, and a line in each of `tables/open.rs` and `tables/reopen.rs`.

mod scan;
mod table;
mod toy_tests;

pub(super) use table::ToyTable;
