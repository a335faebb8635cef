//! The terms of the specification: metadata, schemas, snapshots, partition specs, sort orders.
//!
//! - `counters`: the next ids and numbers, checked against the used ones and against overflow
//! - `defaults`: default values of columns: checks them and converts them to the form of table metadata
//! - `metadata`: table metadata: one version of a table, as its metadata file describes it
//! - `metadata_build`: new versions of table metadata: new tables and the changes that commits make
//! - `metadata_encode`: metadata files: `TableMetadata` to bytes
//! - `metadata_json`: metadata files: bytes to `TableMetadata`
//! - `partition`: partition specs as JSON
//! - `partition_by`: the short texts of partitioning: `day(ts)`, `bucket(16, user_id)`, `truncate(4, name) as
//!   prefix`, `country`
//! - `schema`: schemas of new tables: checking them and numbering their columns
//! - `snapshot`: snapshots, references to them and the logs about them, with their JSON
//! - `sort_order`: sort orders: their JSON, and the short texts that users write (`ts desc nulls last`)

pub mod counters;
pub(crate) mod defaults;
pub mod metadata;
pub mod metadata_build;
pub mod metadata_encode;
pub mod metadata_json;
pub mod partition;
pub mod partition_by;
pub mod schema;
pub mod snapshot;
pub mod sort_order;
