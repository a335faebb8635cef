//! Changing rows: delete, update, upsert, merge, overwrite.
//!
//! - `apply`: applies a change to the rows that were found: they are removed or replaced
//! - `change_rows`: changes of rows: delete, overwrite, update, upsert and merge, each in one commit or as a
//!   part of a transaction
//! - `delete`: deleting the rows that match a filter
//! - `effect`: the changes of files by a change of rows, as plain data
//! - `inserts`: writes the rows that a merge inserts, where another engine has found the matches
//! - `key_files`: finds the files that can hold a row with one of the source's keys
//! - `live`: the current rows of data files, with their positions
//! - `matches`: the part of a merge whose matches another engine has found
//! - `merge`: merging rows into a table by keys: those that match are updated or deleted, the others inserted
//! - `new_files`: rewriting rows of data files
//! - `overwrite`: replacing rows: those that match a filter, or those of the same partitions
//! - `parts`: changes of rows in parts: several processes do a part each, and one commits them all
//! - `plan`: the files that a filter touches
//! - `positions`: naming deleted rows in delete files
//! - `row_delta`: row deltas: deletes that are written without reading the rows that they delete
//! - `settle`: converting equality deletes into deletes by position, which readers apply faster
//! - `update`: updating columns of the rows that match a filter
//! - `view`: the version that an operation is planned on

pub(crate) mod apply;
pub mod change_rows;
pub(crate) mod delete;
pub(crate) mod effect;
pub mod inserts;
pub(crate) mod key_files;
pub(crate) mod live;
pub(crate) mod matches;
pub(crate) mod merge;
pub(crate) mod new_files;
pub(crate) mod overwrite;
pub mod parts;
pub(crate) mod plan;
pub(crate) mod positions;
pub(crate) mod row_delta;
pub(crate) mod settle;
pub(crate) mod update;
pub(crate) mod view;
