//! Plans, reads and commits Apache Iceberg and Apache Paimon tables from Rust and Python, without a JVM.
//!
//! Reading: [`tables::open`] opens a table of either format as a [`Table`](rows::seam::Table). Its
//! [`Scan`](rows::seam::Scan) plans. Planning reads manifests, skips files by their bounds ([`expr::bounds`]), and
//! finds the deletes of each file. The result is a list of [`ScanTask`](format::task::ScanTask)s. [`data::read`]
//! turns a task into Arrow batches.
//!
//! Writing: [`data::write`](mod@data::write) makes data files of batches. A format's `commit` folder,
//! [`iceberg::commit`] or [`paimon::commit`], makes manifests and the new snapshot. [`format::commit_loop`] tries again
//! after a lost race.
//!
//! A module imports only from modules above it in this list:
//!
//! - [`error`]: one error for the whole crate, with its kind, context and hint
//! - [`types`]: schemas, values, transforms, options
//! - [`parallel`]: threads that live as long as one call, and cancellation
//! - [`expr`]: filters, and the one pruning algorithm
//! - [`codec`]: bytes to plain structs and back, without I/O
//! - [`store`]: the only place for files and network
//! - [`format`](mod@format): what every table format speaks: tasks, splits, commits, and their bytes between processes
//! - [`data`]: data files to Arrow and back
//! - [`rows`]: what the verbs of all formats share, and [`rows::seam`], the traits that a format implements
//! - [`iceberg`]: Apache Iceberg, complete
//! - [`paimon`]: Apache Paimon, complete; the two formats do not import each other
//! - [`tables`]: the only place that names both formats
//! - `py`: the Python module (feature `python`), which has no logic

#![cfg_attr(test, allow(clippy::unimplemented, clippy::unreachable, reason = "tests may stop at a surprise"))]

pub mod error;

pub mod types;

pub mod parallel;

pub mod expr;

pub mod codec;

pub mod store;

pub mod format;

pub mod data;

pub mod rows;

pub mod iceberg;

pub mod paimon;

pub mod tables;

#[cfg(feature = "python")]
mod py;
