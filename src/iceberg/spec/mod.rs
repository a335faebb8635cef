//! The terms of the specification: metadata, schemas, snapshots, partition specs, sort orders.

pub(crate) mod defaults;
pub(crate) mod members;
pub mod metadata;
pub mod metadata_build;
pub mod metadata_encode;
pub mod metadata_json;
pub mod partition;
pub mod partition_by;
pub mod schema;
pub mod snapshot;
pub mod sort_order;
