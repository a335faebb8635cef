//! Metadata tables as Arrow.
//!
//! - `arrays`: Arrow arrays from values, with their sizes checked: Arrow's 32-bit offsets hold 2 GiB in one
//!   batch
//! - `files`: `entries`, `files` and similar tables: the data of manifest entries, one batch for each part of
//!   a manifest
//! - `human`: partition values as readable text, in the reference's form
//! - `inspection`: the data that the readers of all metadata tables share: the table, its metadata and the version to
//!   show
//! - `logs`: `snapshots`, `history`, `refs` and `metadata_log_entries`: from the metadata file alone
//! - `manifests`: `manifests` and `all_manifests`: the contents of manifest lists
//! - `metadata_table`: the kinds of metadata tables and their names
//! - `metrics`: `readable_metrics`: the metrics of files by column name, with bounds decoded into the
//!   columns' types
//! - `partitions`: `partitions`: the live files of each partition, counted
//! - `position_deletes`: `position_deletes`: the rows that position delete files and deletion vectors delete,
//!   by data file and position
//! - `schemas`: the columns of metadata tables, as table schemas with the reference's ids
//! - `tables`: metadata tables: a table's snapshots, manifests, files and partitions as Arrow, with the
//!   columns of Java Iceberg's

pub(crate) mod arrays;
pub(crate) mod files;
pub(crate) mod human;
pub(crate) mod inspection;
pub(crate) mod logs;
pub(crate) mod manifests;
pub mod metadata_table;
pub(crate) mod metrics;
pub(crate) mod partitions;
pub(crate) mod position_deletes;
pub(crate) mod schemas;
pub mod tables;
