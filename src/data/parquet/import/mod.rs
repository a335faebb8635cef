//! Parquet files of other writers, which a table adopts without copying them.
//!
//! `importer` makes a data file of a footer. `fits` checks that the columns fit the table, and `lineage` looks for the
//! columns of row lineage.

pub(crate) mod fits;
pub(crate) mod importer;
pub(crate) mod lineage;
