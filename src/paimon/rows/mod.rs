//! Changing rows: delete, update, upsert, merge.
//!
//! [`change_rows`] is the entry, [`by_filter`] and [`merge`] are the changes, [`planned_commit`] plans them again
//! after conflicts.
//!
//! - `aligned`: deleting rows of tables whose columns are in several files
//! - `column_files`: updating rows of such tables by new files of the changed columns
//! - `change_files`: changing rows of tables without primary key, file by file
//! - `column_writer`: writes files of some columns of rows that exist
//! - `fate`: the result for the rows that a change finds
//! - `found`: finds the rows that a filter matches, file by file
//! - `keyed`: checks whether a table with a primary key accepts rows that update others
//! - `rewrite`: rewriting files without deleted rows, or with other rows in their place
//! - `parts`: changes that several processes do in parts
//! - `row_matcher`: the result of a merge for whole rows
//! - `tracking`: columns of rewritten files that keep the ids of rows
//! - `unpublished`: files of a change before its commit takes them over
//! - `vectors`: index files of deletion vectors: those that a change writes, and those that it replaces

mod aligned;
pub(crate) mod by_filter;
pub(crate) mod change_files;
pub(crate) mod change_rows;
mod column_files;
mod column_writer;
pub(crate) mod fate;
pub(crate) mod found;
pub(super) mod keyed;
pub(crate) mod merge;
pub(crate) mod parts;
pub(crate) mod planned_commit;
pub(crate) mod rewrite;
pub(super) mod row_matcher;
pub(crate) mod tracking;
pub(crate) mod unpublished;
pub(crate) mod vectors;
