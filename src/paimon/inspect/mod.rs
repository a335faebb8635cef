//! Metadata tables as Arrow, with the columns of Java's system tables.
//!
//! - `columns`: columns of metadata tables as Arrow arrays
//! - `files`: metadata tables of one version: files, entries, manifests, partitions, buckets and index files
//! - `metrics`: what is recorded of the columns of files, with bounds as values of the columns' types
//! - `row_text`: values of binary rows as Java's system tables show them
//! - `tables`: metadata tables of Apache Paimon, with the columns of Java's system tables

pub(crate) mod columns;
pub(crate) mod files;
mod metrics;
pub(crate) mod row_text;
pub(crate) mod tables;
