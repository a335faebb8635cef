//! Merging the files of tables with a primary key, and of tables whose columns are spread over several files.
//!
//! `read` merges the files of a bucket. `rules` reads the options of the table, and `runs` brings rows with one key
//! together. `columns` merges rows column by column, with the functions of `function`, `nested` and `sketches`. `picks`
//! builds the columns of the result.
//!
//! [`buffer`] merges the rows of a writer before they become a file, and [`compact`] merges files for a compaction.
//! `diff` compares two merged states, and [`kind_rows`] gives the changes of commits. `aligned_read` joins files that
//! have different columns of the same rows.
//!
//! `column` is one column of the batches that are merged.

pub(crate) mod aligned_read;
pub mod buffer;
pub(crate) mod column;
pub(crate) mod columns;
pub mod compact;
pub(crate) mod diff;
pub(crate) mod function;
pub mod kind_rows;
pub(crate) mod nested;
pub(crate) mod picks;
pub(crate) mod read;
pub(crate) mod rules;
pub(crate) mod runs;
pub(crate) mod sketches;
