//! The vocabulary: schemas, values, decimals, points in time, hashes, transforms. No I/O, no Arrow.
//!
//! - `decimal`: decimals as unscaled 128-bit integers: text and minimal big-endian bytes
//! - `hash`: 32-bit Murmur3 (x86) of single values by the crate `murmur3`, and Iceberg's hash of each type
//!   (seed 0)
//! - `hash_kernels`: 32-bit Murmur3 (x86) for whole columns: several times as fast as `super::hash`, which
//!   the tests hold it to
//! - `java`: how Java prints and orders values
//! - `json`: single values as JSON
//! - `json_members`: members of JSON objects, read one by one
//! - `metadata_columns`: all reserved field ids, and the columns that rows have in addition to those of their table
//! - `json_text`: reads the text of JSON, nested as deep as Java reads it
//! - `name_mapping`: names that columns have in files without field ids
//! - `options`: table options as text, read as Java's `Options` class reads them
//! - `partition`: partition specs and sort orders: they decide how rows are distributed to files
//! - `schema`: schemas: named, numbered and typed columns
//! - `schema_json`: schemas as JSON
//! - `select`: selecting columns: a schema pruned to dotted paths
//! - `suggest`: suggests similar names for a name that does not exist
//! - `temporal`: dates, times and timestamps as integers from the epoch, their ISO text, and the clock
//! - `transform`: partition transforms: functions from a column's value to a partition value
//! - `type_text`: types as text: `long`, `decimal(9, 2)`, `list<string>`, `map<string, long>`, `struct<a:
//!   int, b: required date>`
//! - `value`: single values: owned (`Value`) and borrowed (`ValueRef`), their order, and their binary form in
//!   bounds

pub mod decimal;
pub mod hash;
pub mod hash_kernels;
pub(crate) mod java;
pub mod json;
pub(crate) mod json_members;
pub mod json_text;
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
