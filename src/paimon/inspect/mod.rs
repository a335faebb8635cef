//! Metadata tables as Arrow, with the columns of Java's system tables.
//!
//! - `columns`: columns of metadata tables as Arrow arrays
//! - `files`: metadata tables of one version: files, entries, manifests, partitions, buckets and index files
//! - `tables`: metadata tables of Apache Paimon, with the columns of Java's system tables
//! - `texts`: values of binary rows as Java's system tables show them

pub(crate) mod columns;
pub(crate) mod files;
pub(crate) mod tables;
pub(crate) mod texts;
