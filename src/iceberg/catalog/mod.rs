//! Catalogs: they find tables by name and publish commits.
//!
//! - `creation`: tables that are created together with their first commit
//! - `filesystem`: tables in folders, without a service: the layout of Java's Hadoop tables and Hadoop
//!   catalog
//! - `interface`: the interface of every catalog, and its implementation by the file-system catalog
//! - `joint_publication`: a joint commit: commits to several tables of one catalog, published at once
//! - `joint_swaps`: joint commits to tables of a register
//! - `kinds`: the types of catalogs, and the properties that each needs
//! - `memory`: a register in memory
//! - `metadata_files`: finding the newest metadata file of a table in a file system
//! - `metadata_names`: names of metadata files, and the files of a version
//! - `metadata_pointer`: the pointer to a table's current version
//! - `newest_metadata`: finds the current metadata file of a folder
//! - `reachable`: the files that a table's metadata leads to
//! - `registered`: catalogs that keep a register of names: SQL catalogs and those in memory
//! - `reports`: what a catalog is told about scans and commits
//! - `rest`: catalogs behind Iceberg's REST API
//! - `sql`: a register in a SQL database

pub mod creation;
pub mod filesystem;
pub mod interface;
pub mod joint_publication;
mod joint_swaps;
pub mod kinds;
pub mod memory;
pub mod metadata_files;
pub(in crate::iceberg) mod metadata_names;
pub mod metadata_pointer;
mod newest_metadata;
mod reachable;
pub mod registered;
pub mod reports;
mod rest;
pub mod sql;

pub use rest::read_any_answer;
