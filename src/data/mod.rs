//! Data files to Arrow and back.

pub mod arrow_schema;
pub mod bounds_truncate;
pub mod conform;
mod conform_leaf;
pub mod metrics;
pub mod parquet_schema;
pub mod parquet_write;
pub mod partition_rows;
pub mod transform_array;
pub mod write;
