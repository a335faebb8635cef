//! Scans: planning, explaining and reading through Arrow.

pub(crate) mod column_statistics;
pub(crate) mod coverage;
pub mod deleted_rows;
pub mod explain;
pub(crate) mod explain_changes;
pub(crate) mod explain_clauses;
pub(crate) mod explain_facts;
pub(crate) mod explain_files;
pub mod handle;
pub mod history;
pub mod native_read;
pub mod packed_splits;
pub mod plan_parts;
pub mod plan_table;
pub mod statistics;
pub(crate) mod survivors;
pub(crate) mod version;
