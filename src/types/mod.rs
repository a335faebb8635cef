//! The vocabulary: schemas, values, decimals, points in time, hashes, transforms. No I/O, no Arrow.

pub mod decimal;
pub mod hash;
pub mod hash_kernels;
pub(crate) mod java;
pub mod json;
pub mod metadata_columns;
pub mod name_mapping;
pub mod options;
pub mod partition;
pub mod schema;
pub mod schema_json;
pub mod select;
pub(crate) mod suggest;
pub mod temporal;
pub mod transform;
pub mod type_text;
pub mod value;

pub use partition::{PartitionField, PartitionSpec, SortField, SortOrder};
pub use schema::{Field, FieldId, PrimitiveType, Schema, Type};
pub use transform::Transform;
pub use value::{Value, ValueRef};
