//! The Paimon tower: bytes of the format to tasks and commits.
//!
//! [`catalog::filesystem`] finds what a table's folder holds, [`metadata`] is what opening a table needs, [`schema`] and
//! [`snapshot`] are its JSON files. A snapshot leads to [`manifest_list`]s, those to [`manifest`]s, whose entries [`live`] puts
//! together; [`index_manifest`] leads to deletion vectors. Keys, partitions and bounds inside them are [`binary_row`]s, which
//! [`stats`], [`partition`] and [`bucket`] give their meaning.

pub mod catalog;
pub(crate) mod catalog_tables;
pub(crate) mod change;
pub mod commit;
pub mod evolve;
pub mod inspect;
pub mod maintain;
pub mod manifest;
pub mod plan;
pub mod rows;
pub mod scan;
pub(crate) mod settle;
pub mod spec;
pub mod state;
pub mod table;
pub mod write;
