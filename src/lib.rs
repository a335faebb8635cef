//! Plan, read and commit Apache Iceberg tables from Rust and Python, without a JVM.
//!
//! The main path reads from top to bottom: open a [`table::Table`], describe what to read with a [`scan::Scan`], let
//! [`iceberg::plan`] prune manifests and files by bounds ([`expr::bounds`]) and match deletes ([`iceberg::deletes`]), and
//! read the [`task::ScanTask`]s that are left to Arrow ([`data::read`]). Appending goes the other way: [`data::write`]
//! makes files, [`iceberg::commit`] the manifests, [`transaction`] publishes.
//!
//! A module imports only from those above it in this list:
//!
//! 1. [`error`]: one error for all
//! 2. [`types`]: schemas, values, transforms, hashes; [`workers`]: parallelism for one call
//! 3. [`expr`]: filters and the one pruning algorithm
//! 4. [`codec`]: bytes to plain structs and back
//! 5. [`store`]: the only place for files and network
//! 6. [`task`], [`task_json`]: what planning gives and reading takes
//! 7. [`data`]: data files to Arrow and back
//! 8. [`iceberg`], [`paimon`]: the formats: metadata, manifests, planning, commits; they import neither each other nor `data`
//! 9. [`explain`], [`plan_table`], [`plan_parts`], [`inspect`], [`splits`], [`changes`], [`statistics`],
//!    [`batch_stream`], [`scan`], [`hand_over`], [`packed_plan`], [`table`], [`transaction`], [`maintain`], `messages`,
//!    `evolution`, `add_files`, [`row_level`], [`catalog`]: the doors; [`either`], [`paimon_table`], [`paimon_scan`], [`paimon_write`]:
//!    those to Paimon's tables
//! 10. `py`: the Python face (feature `python`)

mod add_files;
pub mod batch_stream;
pub mod catalog;
pub mod changes;
pub mod codec;
pub mod data;
pub mod either;
pub mod error;
mod evolution;
pub mod explain;
pub mod expr;
pub mod hand_over;
pub mod iceberg;
pub mod inspect;
pub mod maintain;
pub mod manifest_count;
mod messages;
pub mod packed_plan;
pub mod paimon;
mod paimon_catalog;
pub mod paimon_compact;
pub mod paimon_scan;
pub mod paimon_table;
pub mod paimon_write;
pub mod plan_parts;
pub mod plan_table;
#[cfg(feature = "python")]
mod py;
pub mod row_level;
pub mod scan;
mod scan_options;
mod scan_shape;
pub mod splits;
pub mod statistics;
pub mod store;
pub mod table;
pub mod task;
pub mod task_json;
pub mod transaction;
pub mod types;
pub mod workers;
