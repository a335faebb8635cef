//! Parquet files of other writers, which a table adopts without copying them.
//!
//! `importer` describes a data file by its footer. `fits` checks that the columns fit the table, and `lineage` looks
//! for the columns of row lineage. `hive` takes partition values from folders, and `whole_units` finds times that are
//! finer than the table's units.

pub(crate) mod fits;
pub(crate) mod hive;
pub(crate) mod importer;
pub(crate) mod lineage;
pub(crate) mod whole_units;
