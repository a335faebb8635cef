//! Reading a task: columns, filters, defaults, many tasks at once.

pub(crate) mod cast;
pub(crate) mod change_rows;
pub(crate) mod constants;
pub(crate) mod defaults;
pub mod file;
pub(crate) mod file_columns;
pub mod filter;
pub(crate) mod filter_columns;
pub(crate) mod guard;
pub(crate) mod leveled_columns;
pub(crate) mod name_mapping;
pub(crate) mod project;
pub mod read_ahead;
pub(crate) mod row_columns;
pub(crate) mod row_lineage;
pub(crate) mod task_reader;
