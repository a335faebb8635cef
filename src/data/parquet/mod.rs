//! Parquet data files to Arrow and back.
//!
//! `source` is the entry to reading. `file` opens a file and fetches its bytes. `checks` has the checks and repairs
//! that come first. `plan` says which row groups, rows and columns are decoded. `row_groups` and `bloom_filters` leave
//! out rows that the filter rules out. Flat columns are decoded here: `column_reader` reads the pages that
//! `page_selection` names, with `column_chunk` and `values`. `int96` decodes timestamps of 96 bits. `groups_ahead`
//! fetches the next row groups. `read` leaves all other columns to the parquet crate.
//!
//! `write` is the entry to writing. `schema` gives the Parquet schema, and `exact` gives that of Paimon's files.
//! `properties` and `dictionary` say how columns are encoded.
//!
//! `import` adopts files of other writers, and `plain_columns` finds out whether an engine can read a file by itself.

pub(crate) mod bloom_filters;
pub(crate) mod checks;
pub(crate) mod column_chunk;
pub(crate) mod column_reader;
pub(crate) mod dictionary;
pub(crate) mod exact;
pub(crate) mod file;
#[cfg(test)]
mod footer_faults_tests;
pub(crate) mod groups_ahead;
pub(crate) mod import;
pub(crate) mod int96;
pub(crate) mod page_selection;
pub(crate) mod plain_columns;
pub(crate) mod plan;
pub(crate) mod properties;
pub(crate) mod read;
pub(crate) mod row_groups;
pub(crate) mod schema;
pub(crate) mod source;
pub(crate) mod values;
pub(crate) mod write;
