//! Parquet data files to Arrow and back.

pub(crate) mod bloom_filters;
pub(crate) mod column_chunk;
pub(crate) mod column_reader;
pub(crate) mod dictionary;
pub(crate) mod file;
pub(crate) mod fits;
pub(crate) mod groups_ahead;
pub(crate) mod import;
pub(crate) mod int96;
pub(crate) mod lineage;
pub(crate) mod page_selection;
pub(crate) mod paimon;
pub(crate) mod plain_columns;
pub(crate) mod properties;
pub(crate) mod read;
pub(crate) mod row_groups;
pub(crate) mod schema;
pub(crate) mod values;
pub(crate) mod write;
