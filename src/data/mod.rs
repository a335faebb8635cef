//! Data files to Arrow and back.
//!
//! This folder knows no table format. It gets a [`ScanTask`](crate::format::task::ScanTask), or rows and a
//! [`WriteContext`](write::context::WriteContext), and nothing else.
//!
//! Reading has four steps. Each step uses only the steps above it in this list.
//!
//! 1. [`read::file`] gives the raw rows of one file. It asks the file formats, [`parquet`], [`avro`] and [`orc`], for
//!    columns.
//! 2. [`deletes`] reads delete files and says which rows they delete.
//! 3. [`read::live`] gives the rows of one file that its deletes leave.
//! 4. [`read::task`] gives the rows of a task of any kind. A task reads one file, merges several files ([`merge`]), or
//!    gives the changes of a commit (`changes`).
//!
//! Folders:
//!
//! - [`arrow`] has the Arrow types of table types, transforms of columns, and variants.
//! - [`declared_types`] has exact types of columns, as a table declares them, and the casts between them.
//! - [`parquet`], [`avro`] and [`orc`] decode and encode one file format each.
//! - `blobs` reads and writes columns whose values are in files of their own.
//! - [`read`] reads files and tasks, also many tasks on several threads.
//! - [`deletes`] reads delete files and tests rows against them.
//! - `formula` computes the values that filters ask about.
//! - [`merge`] makes one row from the rows that have the same key in several files.
//! - `step_sort` sorts many items, and stops soon when the call is cancelled.
//! - `verify` compares files with what a table records about them.
//! - `changes` adds the columns of a changelog to the rows that a commit added or removed.
//! - [`write`](mod@write) brings rows to the table's schema, splits and sorts them, and writes data files and delete
//!   files.

pub mod arrow;
pub mod avro;
pub(crate) mod blobs;
#[cfg(test)]
mod bucket_read_tests;
#[cfg(test)]
mod bucket_testing;
pub(crate) mod changes;
pub mod declared_types;
pub mod deletes;
pub(crate) mod formula;
pub mod merge;
pub mod orc;
pub mod parquet;
pub mod read;
pub(crate) mod step_sort;
#[cfg(test)]
mod testing;
pub(crate) mod verify;
pub mod write;
