//! Delete files: their content, and the rows of a data file that they leave.
//!
//! [`load`] reads the deletes of a data file into a [`filter`], which then tests batches. [`cache`] keeps the deletes
//! that were read for other tasks of the scan, within the bounds of a `weighted_cache`. `files` reads single delete
//! files: `position_sets` for positions, and `keys` and `long_keys` for equality deletes. [`positions`] says which rows
//! of its file a batch has.
//!
//! `position_schema` has the columns of position delete files.

pub mod cache;
pub mod files;
pub mod filter;
pub(crate) mod keys;
pub mod load;
pub(crate) mod long_keys;
pub(crate) mod position_schema;
pub(crate) mod position_sets;
pub mod positions;
pub(crate) mod weighted_cache;
