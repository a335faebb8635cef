//! Changes of a table's metadata rather than its rows: schema, partition spec, sort order, properties, location, format
//! version, branches and tags.
//!
//! An [`Evolution`](crate::format::evolution::Evolution) is such a change as plain data. [`apply`] returns the metadata
//! after a list of them, without any I/O. So a commit can apply them again when another writer committed first.
//! [`Requirements`] hold what must not have changed meanwhile.
//!
//! Source: Iceberg specification, "Schema Evolution", "Partition Evolution", "Sorting", "Snapshot References".

mod columns;
pub(crate) mod commit;
mod name_mapping;
mod partition;
pub(crate) mod properties;
mod refs;
mod requirements;
mod schema;
mod schema_apply;
mod sort_order;
mod union;
mod updates;

pub use requirements::Requirements;
pub use updates::{apply, is_same};
