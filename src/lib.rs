//! Plan, read and commit Apache Iceberg tables from Rust and Python, without a JVM.
//!
//! The main path reads from top to bottom: open a [`crate::iceberg::state::Table`], describe what to read with a [`crate::iceberg::scan::handle::Scan`], let
//! [`iceberg::plan`] prune manifests and files by bounds ([`expr::bounds`]) and match deletes ([`iceberg::deletes`]), and
//! read the [`crate::format::task::ScanTask`]s that are left to Arrow ([`data::read`]). Appending goes the other way: [`data::write`]
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

pub mod codec;
pub mod data;
pub mod error;
pub mod expr;
pub mod format;
pub mod iceberg;
pub mod paimon;
pub mod parallel;
#[cfg(feature = "python")]
mod py;
pub mod rows;
pub mod store;
pub mod tables;
pub mod types;
